"""The configuration of a TableEnvironment, with shortcuts for the keys people use most."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterator, MutableMapping

from penstock.common.config_values import parse_value
from penstock.common.configuration import Configuration
from penstock.common.errors import ValidationError
from penstock.table.sql_dialect import SqlDialect

__all__ = ["TableConfig"]

_TTL = "table.exec.state.ttl"
_ZONE = "table.local-time-zone"
_DIALECT = "table.sql-dialect"
_PYTHON = "python.executable"


class TableConfig:
    """Reads and writes options by key; changes apply to the next statement.

    Args:
        configuration: Where options are kept.
        below: The configuration of the stream environment, which is read where nothing is set here.
    """

    def __init__(
        self, configuration: Configuration | None = None, below: Configuration | None = None
    ) -> None:
        self._configuration = configuration if configuration is not None else Configuration()
        self._below = below

    @staticmethod
    def get_default() -> TableConfig:
        """Settings of which nothing is set."""
        return TableConfig()

    def get(self, key: str, default_value: str) -> str:
        """The value of a key, or the default."""
        inherited = None if self._below is None else self._below.get_string(key, None)
        return self._configuration.get_string(key, inherited) or default_value

    def set(self, key: str, value: str) -> TableConfig:
        """Sets a key, as SET does."""
        self._configuration.set_string(key, str(value))
        return self

    def get_configuration(self) -> Configuration:
        """All settings as a configuration that shares them."""
        return self._configuration

    def add_configuration(self, configuration: Configuration) -> None:
        """Sets everything that another configuration sets."""
        self._configuration.add_all(configuration)

    def to_map(self) -> dict[str, str]:
        """All settings as texts."""
        return self._configuration.to_dict()

    def get_local_timezone(self) -> str:
        """The zone of TIMESTAMP_LTZ values; UTC where the program chose none."""
        zone = self.get(_ZONE, "default")
        return "UTC" if zone == "default" else zone

    def set_local_timezone(self, timezone_id: str) -> None:
        """The time zone in which moments are shown and texts are read as moments."""
        self.set(_ZONE, timezone_id)

    def get_idle_state_retention(self) -> dt.timedelta:
        """How long state lives that nothing touches; zero means for ever."""
        value = parse_value(_TTL, self.get(_TTL, "0 ms"), "Duration")
        return value if isinstance(value, dt.timedelta) else dt.timedelta(milliseconds=value.to_millis())

    def set_idle_state_retention(self, duration: dt.timedelta) -> None:
        """How long state lives that nothing touches: `table.exec.state.ttl`."""
        self.set(_TTL, f"{int(duration.total_seconds() * 1000)} ms")

    def get_sql_dialect(self) -> int:
        """`SqlDialect.DEFAULT` or `SqlDialect.HIVE`."""
        return SqlDialect.HIVE if self.get(_DIALECT, "default").lower() == "hive" else SqlDialect.DEFAULT

    def set_sql_dialect(self, sql_dialect: int) -> None:
        """Which dialect statements are written in from now on."""
        names = {SqlDialect.DEFAULT: "DEFAULT", SqlDialect.HIVE: "HIVE"}
        if sql_dialect not in names:
            raise ValidationError(
                f"unsupported SQL dialect: {sql_dialect!r}", do="use SqlDialect.DEFAULT or HIVE"
            )
        self.set(_DIALECT, names[sql_dialect])

    def get_max_generated_code_length(self) -> int:
        """What was set; without effect here, no code is generated."""
        return int(self.get("table.generated-code.max-length", "4000"))

    def set_max_generated_code_length(self, max_generated_code_length: int) -> None:
        """Kept and ignored: no code is generated here."""
        self.set("table.generated-code.max-length", str(max_generated_code_length))

    def get_python_executable(self) -> str:
        """The Python that runs functions; None for the program's own."""
        return self.get(_PYTHON, sys.executable)

    def set_python_executable(self, python_exec: str) -> None:
        """The Python that runs functions: `python.executable`."""
        self.set(_PYTHON, python_exec)


class ConfigMapping(MutableMapping[str, str]):
    """A configuration seen as a mapping of texts, which is how the SQL session reads it."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def __getitem__(self, key: str) -> str:
        value = self._configuration.get_string(key, None)
        if value is None:
            raise KeyError(key)
        return value

    def __setitem__(self, key: str, value: str) -> None:
        self._configuration.set_string(key, value)

    def __delitem__(self, key: str) -> None:
        if not self._configuration.remove_config(key):
            raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._configuration.to_dict())

    def __len__(self) -> int:
        return len(self._configuration)


class LayeredMapping(ConfigMapping):
    """A table environment's configuration over that of the stream environment it belongs to."""

    def __init__(self, configuration: Configuration, below: Configuration) -> None:
        super().__init__(configuration)
        self._below = ConfigMapping(below)

    def __getitem__(self, key: str) -> str:
        try:
            return super().__getitem__(key)
        except KeyError:
            return self._below[key]

    def __iter__(self) -> Iterator[str]:
        return iter({**dict.fromkeys(self._below), **dict.fromkeys(super().__iter__())})

    def __len__(self) -> int:
        return len(list(iter(self)))
