"""The older group windows: `GROUP BY TUMBLE(ts, INTERVAL …)` with TUMBLE_START and friends.

They become a `WindowTvf` below the aggregate whose window columns are grouping keys, so that nothing after
the binder has to know them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.common.datatypes import DayTimeIntervalType, LocalZonedTimestampType, TimestampType
from penstock.sql.binder.context import BindContext
from penstock.sql.binder.expressions import ExpressionBinder
from penstock.sql.binder.grouping import GroupElement, combine
from penstock.sql.binder.window_functions import check_sizes, window_fields
from penstock.sql.plan.algebra import Plan, WindowTvf
from penstock.sql.plan.rex import Call, Const, InputRef, Rex

WINDOWS = ("TUMBLE", "HOP", "SESSION")
SUFFIXES = ("START", "END", "ROWTIME", "PROCTIME")


def is_group_window(name: str) -> bool:
    return name in WINDOWS


def is_auxiliary(name: str) -> bool:
    window, _, suffix = name.partition("_")
    return window in WINDOWS and suffix in SUFFIXES


@dataclass
class GroupWindows:
    """Binds the items of GROUP BY and moves a group window, if there is one, below the aggregate."""

    ctx: BindContext
    binder: ExpressionBinder

    def apply(
        self, plan: Plan, elements: list[GroupElement]
    ) -> tuple[Plan, list[Rex], list[tuple[int, ...]] | None, dict[Rex, Rex]]:
        """The input with windows added, the keys, the grouping sets, and what auxiliary calls stand for."""
        keys: list[Rex] = []
        keys_of: list[list[int]] = []
        windows: dict[Rex, Rex] = {}
        for element in elements:
            positions = []
            for tree in element.trees:
                rex = self.binder.bind(tree)
                if isinstance(rex, Call) and is_group_window(rex.name):
                    plan, added, windows = self._window(plan, rex, tree)
                    for key in added:
                        keys.append(key)
                    positions.append(len(keys) - len(added))
                    continue
                if rex not in keys:
                    keys.append(rex)
                positions.append(keys.index(rex))
            keys_of.append(positions)
        return plan, keys, combine(elements, keys_of), windows

    def _window(self, plan: Plan, call: Call, node: Any) -> tuple[Plan, list[Rex], dict[Rex, Rex]]:
        time, *lengths = call.args
        if not isinstance(time, InputRef) or not isinstance(
            time.type, (TimestampType, LocalZonedTimestampType)
        ):
            raise self.ctx.error(f"{call.name} needs a time attribute column", node)
        if self.ctx.streaming and not time.time:
            raise self.ctx.error(f"{call.name} needs a time attribute, this is an ordinary timestamp", node)
        if call.name == "SESSION" and not self.ctx.streaming:
            raise self.ctx.error("session windows are not supported in batch mode", node)
        sizes = [self._millis(length, call.name, node) for length in lengths]
        slide, size = (sizes[0], sizes[1]) if call.name == "HOP" else (None, sizes[0])
        check_sizes(self.ctx, call.name, size, slide, node)
        fields = (*plan.fields, *window_fields(plan.fields[time.index]))
        tvf = WindowTvf(fields, plan, call.name, time.index, size, slide)  # type: ignore[arg-type]
        width = len(plan.fields)
        start, end, moment = (InputRef(f.type, width + i, f.time) for i, f in enumerate(fields[width:]))
        meaning = {"START": start, "END": end, "ROWTIME": moment, "PROCTIME": moment}
        windows: dict[Rex, Rex] = {
            Call(auxiliary_type(s, call.args), f"{call.name}_{s}", call.args): r for s, r in meaning.items()
        }
        return tvf, [start, end, moment], windows

    def _millis(self, rex: Rex, name: str, node: Any) -> int:
        if not isinstance(rex, Const) or not isinstance(rex.type, DayTimeIntervalType):
            raise self.ctx.error(
                f"the size of {name} must be an interval literal such as INTERVAL '1' HOUR", node
            )
        return int(rex.value)


def auxiliary_type(suffix: str, args: tuple[Rex, ...]) -> Any:
    if suffix in ("START", "END"):
        return TimestampType(3, False)
    return args[0].type.not_null() if suffix == "ROWTIME" else LocalZonedTimestampType(3, False)


def bind_group_window(name: str, args: tuple[Rex, ...]) -> Call:
    """A group window or an auxiliary call as an expression; `GroupWindows` resolves it."""
    if is_group_window(name):
        return Call(TimestampType(3, False), name, args)
    return Call(auxiliary_type(name.partition("_")[2], args), name, args)
