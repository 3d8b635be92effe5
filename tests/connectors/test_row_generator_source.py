"""The source of datagen tables: the same rows whoever asks, and an endless table at its rate."""

from __future__ import annotations

import datetime as dt

from penstock.common.datatype_parser import parse_type
from penstock.connectors.datagen.row_source import RowGeneratorSource
from penstock.connectors.datagen.rows import DataGenerator
from penstock.connectors.source import EnumeratorContext
from tests.connectors.epochs import SourceLoop

NOW = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)


def generator(**options: str) -> DataGenerator:
    given = {f"fields.{k.replace('_', '.', 1)}": v for k, v in options.items()}
    return DataGenerator(parse_type("ROW<n INT>"), given, 7, NOW)


def test_rows_do_not_depend_on_epochs_or_subtasks() -> None:
    source = RowGeneratorSource(generator(), 2500, 10)
    expected = SourceLoop(source).run_to_end()
    assert len(expected) == 2500
    assert SourceLoop(source, parallelism=3, max_records=7).run_to_end() == expected


def test_a_restored_job_goes_on_with_the_same_dice() -> None:
    loop = SourceLoop(RowGeneratorSource(generator(), 100, 10), max_records=30)
    expected = SourceLoop(loop.source).run_to_end()
    loop.run_epoch()
    loop.source = RowGeneratorSource(DataGenerator(parse_type("ROW<n INT>"), {}, 8, NOW), 100, 10)
    loop.recover()
    assert loop.run_to_end() == expected


def test_a_table_with_a_sequence_is_read_by_one_subtask() -> None:
    source = RowGeneratorSource(generator(n_kind="sequence", n_start="1", n_end="9"), None, 10)
    loop = SourceLoop(source, parallelism=4)
    assert loop.run_to_end() == [(n,) for n in range(1, 10)]


def test_an_endless_generator_goes_on_at_its_rate_after_a_restore() -> None:
    source = RowGeneratorSource(generator(), None, 10)
    context = EnumeratorContext(1, {})
    first = source.create_enumerator(context)
    (split,) = first.discover()
    restored = source.create_enumerator(context, first.snapshot())
    assert not restored.discover()
    assert restored.plan_read(split, 5000, 1_000_000) is None
    limit = restored.plan_read(split, 5000, 1_001_000)
    assert limit is not None and limit.end_position == 5010
