"""`penstock state`: look into checkpoints and savepoints, without Spark and without the job."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.tables import print_table
from penstock.common.errors import CheckpointError

if TYPE_CHECKING:
    from penstock.checkpoint.contents import StateContents
    from penstock.checkpoint.difference import Difference

app = typer.Typer(help="Look into checkpoints and savepoints.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="For scripts.")]
EXIT_DIFFERS = 1
_EXAMPLE = ("uid", "state", "key", "window", "map_key", "chunk", "time", "before", "after")
"""Columns of what `diff` shows, as far as the states have them."""


@app.command("ls")
def list_state(
    path: Annotated[str, typer.Argument(help="A folder with checkpoints or savepoints, or one of them.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read all their files, to find changed bytes, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Lists the checkpoints and savepoints of a folder; of a single one its operators and states.

    The column 'problem' says which cannot be used: metadata is damaged, files are missing or have another size.
    """
    from penstock.checkpoint.contents import open_contents
    from penstock.checkpoint.file_check import FileCheck
    from penstock.checkpoint.filesystem import filesystem_for
    from penstock.checkpoint.listing import find_snapshots

    found = find_snapshots(path, FileCheck(reads_all=verify))
    if not found:
        raise CheckpointError(
            "there is no checkpoint or savepoint",
            where=path,
            do="give a folder that contains some, or one of them",
        )
    if len(found) == 1 and found[0].path == filesystem_for(path)[1] and not found[0].problem:
        _list_operators(open_contents(path), as_json)
        return
    if as_json:
        _print_json([asdict(snapshot) for snapshot in found])
        return
    rows = [
        [s.path, s.kind, s.epoch if s.epoch >= 0 else "", s.job_name, _moment(s.timestamp_ms), s.operators,
         _size(s.state_bytes), s.problem]
        for s in found
    ]  # fmt: skip
    _table(["path", "kind", "epoch", "job", "written", "operators", "state", "problem"], rows)


def _list_operators(contents: StateContents, as_json: bool) -> None:
    from penstock.checkpoint.listing import describe, sources_of

    operators = describe(contents)
    if as_json:
        shown = {
            "path": contents.path,
            "epoch": contents.metadata.epoch,
            "job_id": contents.metadata.job_id,
            "job_name": contents.metadata.job_name,
            "operators": [asdict(operator) for operator in operators],
            "sources": sources_of(contents),
        }
        _print_json(shown)
        return
    rows = []
    for op in operators:
        first = [op.uid, op.name, f"{op.parallelism} of {op.max_parallelism}", op.key_type]
        sizes = [_size(op.keyed_bytes), _size(op.operator_bytes)]
        states = [[s.name, s.kind, s.type] for s in op.states] or [["", "", ""]]
        for number, state in enumerate(states):
            rows.append([*first, *sizes, *state] if number == 0 else [""] * 6 + state)
    _table(["uid", "operator", "parallelism", "key", "keyed", "other", "state", "kind", "type"], rows)
    splits = [
        [uid, split, known["position"], "yes" if known["finished"] else ""]
        for uid, of_source in sources_of(contents).items()
        for split, known in of_source.items()
    ]
    if splits:
        _table(["source", "split", "position", "finished"], splits)


@app.command()
def show(
    path: Annotated[str, typer.Argument(help="A checkpoint or savepoint.")],
    uid: Annotated[str, typer.Argument(help="The uid of an operator, or its name.")],
    state: Annotated[
        str | None, typer.Argument(help="A state of it, or 'timers'; without, its states are listed.")
    ] = None,
    key: Annotated[str | None, typer.Option("--key", "-k", help="Only this key, as JSON or text.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-l", min=1, help="At most so many rows.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Shows the entries of a state."""
    from penstock.checkpoint.contents import open_contents
    from penstock.checkpoint.listing import describe_operator, state_rows

    operator = open_contents(path).operator(uid)
    if state is None:
        info = describe_operator(operator)
        if as_json:
            _print_json(asdict(info))
        else:
            _table(
                ["state", "kind", "type", "ttl"], [[s.name, s.kind, s.type, s.has_ttl] for s in info.states]
            )
        return
    rows = state_rows(operator, state, key, limit + 1)
    if as_json:
        _print_json(rows[:limit])
        return
    columns = list(dict.fromkeys(name for row in rows for name in row))
    _table(columns, [[_cell(row.get(name)) for name in columns] for row in rows[:limit]])
    if len(rows) > limit:
        typer.echo(f"more than {limit} rows; see --limit and --key")


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="A checkpoint or savepoint.")],
    after: Annotated[str, typer.Argument(help="Another one.")],
    examples: Annotated[
        int, typer.Option("--examples", "-n", min=0, help="Show so many changes per state.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Says how two checkpoints or savepoints differ; exit code 1 if they do."""
    from penstock.checkpoint.contents import open_contents
    from penstock.checkpoint.difference import compare

    found = compare(open_contents(before), open_contents(after), examples)
    if as_json:
        _print_json(asdict(found))
    else:
        show_difference(found)
    raise typer.Exit(EXIT_DIFFERS if found.differs else 0)


def show_difference(found: Difference) -> None:
    typer.echo(f"epoch {found.epochs[0]} -> {found.epochs[1]}")
    rows: list[list[Any]] = []
    for op in found.operators:
        rows.append([op.uid, op.status, "", "", "", "", "; ".join(op.notes)])
        rows += [["", "", s.name, s.added, s.removed, s.changed, s.note] for s in op.states if s.differs]
    _table(["uid", "status", "state", "added", "removed", "changed", "note"], rows)
    shown = [
        {"uid": op.uid, "state": state.name, **example}
        for op in found.operators
        for state in op.states
        for example in state.examples
    ]
    if shown:
        columns = [name for name in _EXAMPLE if any(name in example for example in shown)]
        _table(columns, [[example.get(name) for name in columns] for example in shown])
    if found.sources:
        names = ["uid", "split", "before", "after"]
        _table(["source", *names[1:]], [[source[name] for name in names] for source in found.sources])


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    print_table(columns, rows, ruled=True)


def _cell(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def _size(count: int) -> str:
    """Bytes for people.

    >>> _size(900), _size(2048), _size(5 << 20)
    ('900 B', '2.0 KiB', '5.0 MiB')
    """
    size, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"


def _moment(timestamp_ms: int) -> str:
    if not timestamp_ms:
        return ""
    moment = datetime.datetime.fromtimestamp(timestamp_ms / 1000, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%d %H:%M:%S")
