"""The kinds of cases and how each is run: SQL scripts and PyFlink programs.

Patterns of events are in `cep_cases.py`, single expressions in `expression_cases.py`.

`run` returns None when penstock answered as Flink did, else one short text that says how it differed.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import io
import json
import pathlib
import runpy
import shutil
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import expression_cases
import script as scripts
import ways
from canonical import canonical, table_after
from cep_cases import CepCase, cases_of, is_case_file

_KINDS = {"INSERT": "+I", "UPDATE_BEFORE": "-U", "UPDATE_AFTER": "+U", "DELETE": "-D"}


@dataclasses.dataclass(frozen=True)
class SqlCase:
    """A folder with `case.sql`, `expected.json` and perhaps `data/`."""

    folder: pathlib.Path
    modes: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}"

    @property
    def has_ways(self) -> bool:
        """Whether there is a streaming answer to come to in several ways.

        `@clock` says that time decides it; what dice say depends on how the input is cut (docs/differences.md).
        """
        text = (self.folder / "case.sql").read_text()
        if self.modes != ("streaming",) or "-- @clock" in text or "RAND(" in text or "RAND_INTEGER(" in text:
            return False
        return "error" not in json.loads((self.folder / "expected.json").read_text())["results"]["streaming"]

    @property
    def survives_kills(self) -> bool:
        """Not statement sets: their inserts are jobs of their own, and one that has finished starts again."""
        return "STATEMENT SET" not in (self.folder / "case.sql").read_text().upper()

    def run(
        self, config: Mapping[str, str], verbose: bool = False, way: ways.Way = ways.STRAIGHT
    ) -> str | None:
        expected = json.loads((self.folder / "expected.json").read_text())["results"]
        differences = []
        for mode in self.modes:
            out = pathlib.Path(tempfile.mkdtemp(prefix="conformance-"))
            try:
                difference = self._run_mode(mode, expected[mode], config, out, verbose, way)
            finally:
                shutil.rmtree(out, ignore_errors=True)
            if difference:
                differences.append(f"[{mode}] {difference}")
        return "; ".join(differences) or None

    def _run_mode(
        self,
        mode: str,
        expected: Mapping[str, Any],
        config: Mapping[str, str],
        out: pathlib.Path,
        verbose: bool,
        way: ways.Way,
    ) -> str | None:
        from penstock.common.errors import PenstockError

        refused = "error" in expected
        circumstances = ways.Circumstances(way, self.name, out / ".checkpoints")
        program = _Program(self.folder, mode, {**config, **circumstances.settings()}, out, circumstances)
        try:
            with circumstances.prevail():
                answer = program.answer()
        except PenstockError as error:
            if refused:
                return None
            if verbose:
                traceback.print_exc()
            return _error_text(error)
        except Exception as error:
            if verbose:
                traceback.print_exc()
            return ("crashed instead of refusing: " if refused else "") + _error_text(error)
        if refused:
            return f"was accepted, Flink says: {expected['error'][:120]}"
        if way.kill and circumstances.epochs and not circumstances.kills:
            return "no job of the case lived long enough to be killed"
        if way != ways.STRAIGHT and not answer["append_only"] and program.may_update():
            expected = {**expected, "append_only": False}
        return _difference(answer, expected)


class _Program:
    """The script of a case, run statement by statement; started again when it was killed."""

    def __init__(
        self,
        folder: pathlib.Path,
        mode: str,
        config: Mapping[str, str],
        out: pathlib.Path,
        circumstances: ways.Circumstances,
    ) -> None:
        text = (folder / "case.sql").read_text()
        self._config = {
            "parallelism.default": "1",
            "table.local-time-zone": "UTC",
            **config,
            **scripts.settings(text),
        }
        data = (folder / "data").resolve().as_uri()
        self._statements = scripts.statements(text.replace("${data}", data).replace("${out}", out.as_uri()))
        self._streaming = mode == "streaming"
        self._circumstances = circumstances
        self._changelog: list[tuple[str, Any]] = []

    def answer(self) -> dict[str, Any]:
        """What the last statement gives, and all that was taken from it before a kill."""
        env, last = self._environment(), len(self._statements) - 1
        for number, statement in enumerate(self._statements):
            self._circumstances.before_statement()
            while True:
                try:
                    schema = self._execute(env, statement, number == last)
                    break
                except Exception as error:
                    if not self._circumstances.was_killed(error):
                        raise
                env = self._environment(self._statements[:number])
        return {
            "columns": list(schema.get_column_names()),
            "types": [str(data_type) for data_type in schema.get_column_data_types()],
            "append_only": all(kind == "+I" for kind, _ in self._changelog),
            "final": table_after(self._changelog),
        }

    def may_update(self) -> bool:
        """Whether the query is one that updates, though in the order in which Flink read it had no need to."""
        *setup, query = self._statements
        return "Result(changelogMode=[I])" not in self._environment(setup).explain_sql(query)

    def _environment(self, done: Sequence[str] = ()) -> Any:
        """A new environment, with what the statements so far declared but not what they wrote."""
        from penstock.table import EnvironmentSettings, TableEnvironment

        settings = EnvironmentSettings
        env = TableEnvironment.create(
            settings.in_streaming_mode() if self._streaming else settings.in_batch_mode()
        )
        for key, value in self._config.items():
            env.get_config().set(key, value)
        for statement in done:
            if not scripts.writes(statement):
                env.execute_sql(statement)
        return env

    def _execute(self, env: Any, statement: str, collects: bool) -> Any:
        result = env.execute_sql(statement)
        if not collects:
            if scripts.writes(statement):
                result.wait()
            return None
        with result.collect() as rows:
            for row in rows:
                self._changelog.append((_KINDS[row.get_row_kind().name], [canonical(field) for field in row]))
        return result.get_resolved_schema()


def _difference(answer: Mapping[str, Any], expected: Mapping[str, Any]) -> str | None:
    for part in ("columns", "types"):
        if answer[part] != expected[part]:
            return f"{part}: expected {expected[part]}, got {answer[part]}"
    if expected["append_only"] and not answer["append_only"]:
        return "expected an append-only result, got updates"
    return _rows_difference(answer["final"], expected["final"])


def _rows_difference(got: list[Any], expected: list[Any]) -> str | None:
    # Both are compared as JSON text: it tells true from 1 and 1 from 1.0, which == does not.
    have = [json.dumps(row, sort_keys=True, ensure_ascii=False) for row in got]
    want = [json.dumps(row, sort_keys=True, ensure_ascii=False) for row in expected]
    return _lines_difference(sorted(have), sorted(want))


def _lines_difference(got: list[str], expected: list[str]) -> str | None:
    if got == expected:
        return None
    missing, extra = _minus(expected, got), _minus(got, expected)
    parts = [f"{len(expected)} rows expected, {len(got)} got"]
    if missing:
        parts.append(f"{len(missing)} missing, e.g. {missing[0][:200]}")
    if extra:
        parts.append(f"{len(extra)} unexpected, e.g. {extra[0][:200]}")
    if not missing and not extra:
        parts.append("same lines in another order")
    return "; ".join(parts)


def _minus(left: list[str], right: list[str]) -> list[str]:
    return list((collections.Counter(left) - collections.Counter(right)).elements())


def _error_text(error: BaseException) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip()] or [""]
    return f"{type(error).__name__}: {lines[0][:240]}"


@dataclasses.dataclass(frozen=True)
class ProgramCase:
    """A PyFlink program `X.py`; what it printed on Flink is in `X.expected`.

    A program that Flink refuses says `# @error build` or, if Flink notices only while the job runs, `# @error run`;
    here it must be refused too, at the latest then. `X.expected` has Flink's message, for people to read.
    """

    path: pathlib.Path

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"

    @property
    def has_ways(self) -> bool:
        return False

    def run(
        self, config: Mapping[str, str], verbose: bool = False, way: ways.Way = ways.STRAIGHT
    ) -> str | None:
        # Programs have one way. `config` reaches them through the environment variable PENSTOCK_PROPERTIES.
        from penstock.common.errors import NotSupportedError, PenstockError

        if not self.path.with_suffix(".expected").exists():
            return "nobody has recorded what Flink answers (record.py)"
        head = "\n".join(self.path.read_text().splitlines()[:5])
        refused = "# @error" in head
        printed = io.StringIO()
        try:
            self._execute(printed)
        except Exception as error:
            if refused and isinstance(error, PenstockError) and not isinstance(error, NotSupportedError):
                return None
            if verbose:
                traceback.print_exc()
            return ("crashed instead of refusing: " if refused else "") + _error_text(error)
        expected = [
            line for line in self.path.with_suffix(".expected").read_text().splitlines() if line.strip()
        ]
        if refused:
            return f"was accepted, Flink says: {' '.join(expected)[:120]}"
        lines = [line for line in printed.getvalue().splitlines() if line.strip()]
        if "# @ordered" in head:
            return _lines_difference(lines, expected)
        return _lines_difference(sorted(lines), sorted(expected))

    def _execute(self, printed: io.StringIO) -> None:
        """Runs the program as `__main__`: cloudpickle takes what it defines by value, as in a real run."""
        from penstock.runtime.compat import install_pyflink_alias

        install_pyflink_alias()
        argv, path = sys.argv, list(sys.path)
        sys.argv = [str(self.path)]
        sys.path.insert(0, str(self.path.parent))
        try:
            with contextlib.redirect_stdout(printed):
                runpy.run_path(str(self.path), run_name="__main__")
        except SystemExit as stop:
            if stop.code not in (None, 0):
                raise RuntimeError(f"the program ended with exit code {stop.code}") from None
        finally:
            sys.argv, sys.path[:] = argv, path


Case = SqlCase | ProgramCase | CepCase | expression_cases.ExpressionCase


def collect(paths: list[pathlib.Path], mode: str | None) -> list[Case]:
    """The cases at or below the paths, without SQL cases that were not recorded in `mode`."""
    found: list[Case] = []
    for path in paths:
        if path.is_file() and path.suffix == ".py":
            found.append(ProgramCase(path))
        elif path.is_file():
            found.extend(_json_cases(path, mode))
        elif (path / "case.sql").exists():
            found.extend(_sql_case(path, mode))
        else:
            for script in sorted(path.rglob("case.sql")):
                found.extend(_sql_case(script.parent, mode))
            found.extend(ProgramCase(program) for program in sorted(path.rglob("*.py")))
            for file in sorted(path.rglob("*.json")):
                found.extend(_json_cases(file, mode))
    return found


def _json_cases(path: pathlib.Path, mode: str | None) -> Sequence[Case]:
    """The cases of a file; none if it is of another kind."""
    if expression_cases.is_file_of_cases(path):
        return expression_cases.cases(path, mode)
    return cases_of(path) if is_case_file(path) else ()


def _sql_case(folder: pathlib.Path, mode: str | None) -> list[Case]:
    recorded = json.loads((folder / "expected.json").read_text())["results"]
    modes = tuple(m for m in recorded if mode in (None, m))
    return [SqlCase(folder, modes)] if modes else []
