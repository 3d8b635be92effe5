"""The client's own options: how results and errors are shown. They live in the session's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.common.errors import ValidationError
from penstock.common.java_time import zone_of

__all__ = ["RUNTIME_MODE", "ClientOptions"]

RUNTIME_MODE = "execution.runtime-mode"
_RESULT_MODE = "sql-client.execution.result-mode"
_MAX_ROWS = "sql-client.execution.max-table-result.rows"
_WIDTHS = (
    "sql-client.display.max-column-width",
    "sql-client.display.column-width",
    "table.display.max-column-width",
)
_SHOW_TYPES = "sql-client.display.show-types"
_TIME_COST = "sql-client.display.print-time-cost"
_LINE_NUMBERS = "sql-client.display.show-line-numbers"
_COLORS = "sql-client.display.color-schema"
_VERBOSE = "sql-client.verbose"
_DML_SYNC = "table.dml-sync"
_ZONE = "table.local-time-zone"


@dataclass(frozen=True)
class ClientOptions:
    """The options as values.

    Raises (from `read`):
        ValidationError: An option has a value that means nothing; it names the option.
    """

    result_mode: str = "tableau"
    max_rows: int = 1_000_000
    max_column_width: int = 30
    show_types: bool = False
    print_time_cost: bool = True
    show_line_numbers: bool = False
    color_schema: str = "default"
    verbose: bool = False
    dml_sync: bool = False
    streaming: bool = False
    zone: str = "UTC"
    """Where TIMESTAMP_LTZ is looked at."""

    @staticmethod
    def read(config: Mapping[str, str]) -> ClientOptions:
        width = next((key for key in _WIDTHS if key in config), _WIDTHS[0])
        return ClientOptions(
            result_mode=_choice(config, _RESULT_MODE, ("tableau", "table", "changelog")),
            max_rows=_positive(config, _MAX_ROWS, 1_000_000),
            max_column_width=_positive(config, width, 30),
            show_types=_flag(config, _SHOW_TYPES, False),
            print_time_cost=_flag(config, _TIME_COST, True),
            show_line_numbers=_flag(config, _LINE_NUMBERS, False),
            color_schema=config.get(_COLORS, "default").lower(),
            verbose=_flag(config, _VERBOSE, False),
            dml_sync=_flag(config, _DML_SYNC, False),
            streaming=_choice(config, RUNTIME_MODE, ("batch", "streaming")) == "streaming",
            zone=_zone(config),
        )


def _zone(config: Mapping[str, str]) -> str:
    zone = config.get(_ZONE, "default")
    if zone == "default":
        return "UTC"
    if zone_of(zone) is None:
        raise ValidationError(f"'{_ZONE}' cannot be '{zone}'", do="use a name such as Europe/Berlin or UTC")
    return zone


def _choice(config: Mapping[str, str], key: str, values: tuple[str, ...]) -> str:
    value = config.get(key, values[0]).lower()
    if value not in values:
        raise ValidationError(f"'{key}' cannot be '{config[key]}'", do=f"use one of {', '.join(values)}")
    return value


def _positive(config: Mapping[str, str], key: str, default: int) -> int:
    text = config.get(key, str(default)).strip()
    if not text.isdigit() or int(text) == 0:
        raise ValidationError(f"'{key}' cannot be '{text}'", do="use a whole number above 0")
    return int(text)


def _flag(config: Mapping[str, str], key: str, default: bool) -> bool:
    text = config.get(key, str(default)).strip().lower()
    if text not in ("true", "false"):
        raise ValidationError(f"'{key}' cannot be '{text}'", do="use true or false")
    return text == "true"
