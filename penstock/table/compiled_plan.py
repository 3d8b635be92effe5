"""Plans that are stored and run again."""

from __future__ import annotations

import pathlib
import sys
from typing import TYPE_CHECKING

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.sql.compiled.plan import StoredPlan, load_plan
from penstock.sql.operations.plans import local_path, read_plan, write_plan
from penstock.table.explain_detail import detail_names
from penstock.table.plan_reference import (
    BytesContentPlanReference,
    FilePlanReference,
    JsonContentPlanReference,
    PlanReference,
)
from penstock.table.table_result import TableResult

if TYPE_CHECKING:
    from penstock.sql.session import SqlSession

__all__ = ["CompiledPlan"]


class CompiledPlan:
    """INSERTs that have been planned: made by `compile_plan_sql` or `compile_plan`, loaded by `load_plan`.

    The operators of its JSON have uids, parallelisms and times to live that may be edited before it is loaded.
    """

    def __init__(self, plan: StoredPlan) -> None:
        self._plan = plan

    def __str__(self) -> str:
        return self.explain()

    def as_json_string(self) -> str:
        """The plan as JSON, which `load_plan` reads."""
        return self._plan.as_json()

    def as_smile_bytes(self) -> bytes:
        """The JSON as bytes; `PlanReference.from_smile_bytes` takes them back."""
        return self._plan.as_json().encode()

    def print_json_string(self) -> None:
        """Writes the JSON to standard output."""
        sys.stdout.write(self.as_json_string() + "\n")

    def write_to_file(self, file: str | pathlib.Path, ignore_if_exists: bool = False) -> None:
        """Writes the JSON to a file.

        Raises:
            TableException: There is a file already and `ignore_if_exists` is not set, or it cannot be written.
        """
        write_plan(self._plan.session, self._plan, local_path(file), ignore_if_exists)

    def get_flink_version(self) -> str:
        """The version of Flink whose semantics the plan has."""
        return str(self._plan.content["flinkVersion"])

    def execute(self) -> TableResult:
        """Runs the plan."""
        return TableResult(self._plan.execute())

    def explain(self, *extra_details: int) -> str:
        """The plan as text."""
        return self._plan.explain(detail_names(extra_details))

    def print_explain(self, *extra_details: int) -> None:
        """Writes the plan to standard output."""
        sys.stdout.write(self.explain(*extra_details) + "\n")


def loaded_plan(session: SqlSession, reference: PlanReference) -> StoredPlan:
    """The plan that a reference points at."""
    if isinstance(reference, FilePlanReference):
        return read_plan(session, local_path(reference.path))
    if isinstance(reference, JsonContentPlanReference):
        return load_plan(session, reference.content, "the plan")
    if isinstance(reference, BytesContentPlanReference):
        return load_plan(session, _text(reference.content), "the plan")
    raise ValidationError(f"not a reference to a plan: {reference!r}", do="use PlanReference.from_file(path)")


def _text(content: bytes) -> str:
    if content.startswith(b":)\n"):
        raise NotSupportedError("Smile", "plans are JSON here", do="use as_json_string()")
    return content.decode()
