"""Plans that are stored."""

from __future__ import annotations

import pathlib

from penstock.common.errors import NotSupportedError
from penstock.table.table_result import TableResult

__all__ = ["CompiledPlan"]


class CompiledPlan:
    """A plan that has been stored; none can be made yet."""

    def as_json_string(self) -> str:
        raise no_plans()

    def as_smile_bytes(self) -> bytes:
        raise no_plans()

    def write_to_file(self, file: str | pathlib.Path, ignore_if_exists: bool = False) -> None:
        raise no_plans()

    def get_flink_version(self) -> str:
        raise no_plans()

    def print_json_string(self) -> None:
        raise no_plans()

    def execute(self) -> TableResult:
        raise no_plans()

    def explain(self, *extra_details: int) -> str:
        raise no_plans()

    def print_explain(self, *extra_details: int) -> None:
        raise no_plans()


def no_plans() -> NotSupportedError:
    return NotSupportedError(
        "compiled plans", "plans are not stored", do="keep the program, and set uids by savepoint"
    )
