"""What binding needs to know of the session, and how binding errors point at the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.common.errors import PenstockError, SqlError, ValidationError
from penstock.sql.dialect.flink import error_at

if TYPE_CHECKING:
    from penstock.catalog.catalog_manager import CatalogManager


@dataclass(frozen=True)
class BindContext:
    """The session as the binder sees it.

    `streaming` only switches validation: both modes give the same algebra. `sql` is the text the tree came
    from; a view's tree has its own.
    """

    catalogs: CatalogManager
    streaming: bool = False
    config: Mapping[str, str] = field(default_factory=dict)
    sql: str = ""

    def for_text(self, sql: str) -> BindContext:
        return replace(self, sql=sql)

    def error(self, what: str, node: Any = None, do: str | None = None) -> ValidationError:
        """An error that underlines the node."""
        start, length = position(node)
        if start is None or not self.sql:
            return SqlError(what, do=do)
        return error_at(self.sql, what, start, length, do=do)

    def wrap(self, error: PenstockError, node: Any) -> PenstockError:
        """Adds the place to an error that was raised without one."""
        if not isinstance(error, ValidationError) or isinstance(error, SqlError):
            return error
        return self.error(error.what, node, error.do)


def position(node: Any) -> tuple[int | None, int]:
    """Where a tree's text begins and how long its first name is."""
    if not isinstance(node, exp.Expr):
        return None, 1
    for part in node.walk():
        meta = part.meta
        if "start" in meta:
            return meta["start"], max(1, meta.get("end", meta["start"]) - meta["start"] + 1)
    return None, 1
