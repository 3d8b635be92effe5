"""Configuration: keys and values of a job, a cluster or a SQL session.

Values are kept as text, as a configuration file would have them, and read with the type that the reader
asks for; `add_all_to_dict` alone tells what was set as a number or a boolean. Known options (`options.py`)
have defaults and older spellings; unknown keys are accepted, as Flink accepts them, and
`unknown_keys()` tells which look like typing errors.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Set
from typing import Any, TypeVar

from penstock.common.config_options import ConfigOption
from penstock.common.config_values import parse_list, parse_value, to_text
from penstock.common.errors import ValidationError

__all__ = ["Configuration"]

T = TypeVar("T")


class Configuration:
    """A mutable set of options.

    Args:
        other: A configuration to start from; its entries are copied.
    """

    def __init__(self, other: Configuration | None = None) -> None:
        self._entries: dict[str, str | bytes] = dict(other._entries) if other is not None else {}
        self._typed: dict[str, int | float] = dict(other._typed) if other is not None else {}

    @classmethod
    def from_dict(cls, map: Mapping[str, Any]) -> Configuration:
        """A configuration with these keys and values."""
        configuration = cls()
        for key, value in map.items():
            configuration._put(key, value)
        return configuration

    def get(self, option: ConfigOption, default: Any = None) -> Any:
        """The value of an option: set under its key or an older one, else `default`, else its own default."""
        for key in (option.key, *option.fallback_keys):
            if key in self._entries:
                return parse_value(key, self._entries[key], option.kind, option.values)
        return option.default if default is None else default

    def set(self, option: ConfigOption, value: Any) -> Configuration:
        """Set an option; the value must be one that the option can have."""
        option.parse(to_text(value))
        return self._put(option.key, value)

    def get_string(self, key: str, default_value: str | None) -> str | None:
        """The value as text, or the default if the key is not set."""
        return self._read(key, "String", default_value)

    def set_string(self, key: str, value: str) -> Configuration:
        """Sets a text, which the option's own type reads when it is used."""
        return self._put(key, value)

    def get_integer(self, key: str, default_value: int | None) -> int | None:
        """The value as a whole number, or the default if the key is not set."""
        return self._read(key, "Long", default_value)

    def set_integer(self, key: str, value: int) -> Configuration:
        """Sets a whole number."""
        return self._put(key, int(value))

    def get_boolean(self, key: str, default_value: bool | None) -> bool | None:
        """The value as a truth value, or the default if the key is not set."""
        return self._read(key, "Boolean", default_value)

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Sets a truth value."""
        return self._put(key, bool(value))

    def get_float(self, key: str, default_value: float | None) -> float | None:
        """The value as a float, or the default if the key is not set."""
        return self._read(key, "Double", default_value)

    def set_float(self, key: str, value: float) -> Configuration:
        """Sets a float."""
        return self._put(key, float(value))

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        """The value as bytes, or the default if the key is not set."""
        value = self._entries.get(key)
        if value is None:
            return bytearray(default_value)
        return bytearray(value if isinstance(value, bytes) else value.encode())

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Sets bytes."""
        return self._put(key, bytes(value))

    def key_set(self) -> Set[str]:
        """All keys that are set."""
        return set(self._entries)

    def keys(self) -> list[str]:
        """All keys that are set."""
        return list(self._entries)

    def contains_key(self, key: str) -> bool:
        """Whether this very key is set; older spellings of an option do not count."""
        return key in self._entries

    def contains(self, option: ConfigOption) -> bool:
        """Whether an option is set, under its key or an older one."""
        return any(key in self._entries for key in (option.key, *option.fallback_keys))

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Take over all entries of `other`, with `prefix` in front of their keys."""
        for key, value in other._entries.items():
            self._put((prefix or "") + key, other._typed.get(key, value))
        return self

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Put every entry into a dict, with the type it was set with: int, float, bool, bytearray or str."""
        for key, value in self._entries.items():
            typed = bytearray(value) if isinstance(value, bytes) else self._typed.get(key, value)
            target_dict[key] = typed

    def to_dict(self) -> dict[str, str]:
        """All entries as text; bytes are read as UTF-8."""
        return {
            key: value.decode("utf-8", "replace") if isinstance(value, bytes) else value
            for key, value in self._entries.items()
        }

    def remove_config(self, key: str) -> bool:
        """Remove an entry; whether there was one."""
        self._typed.pop(key, None)
        return self._entries.pop(key, None) is not None

    @staticmethod
    def parse_list_value(value: str) -> list[str]:
        """The items of a list value: between semicolons, or a YAML list."""
        return parse_list(value or "")

    def unknown_keys(self) -> dict[str, str | None]:
        """Keys that look like Flink's but are not known here, each with the known key most like it.

        A key that does not begin as ours do is taken for a program's own unless it is all but equal to a known one.
        """
        from penstock.common.options import (
            begins_as_known,
            belongs_to_others,
            is_known,
            is_meant_for_us,
            known_keys,
        )

        unknown: dict[str, str | None] = {}
        for key in self._entries:
            if is_known(key) or belongs_to_others(key):
                continue
            ours = is_meant_for_us(key)
            cutoff = 0.85 if ours or begins_as_known(key) else 0.92
            near = difflib.get_close_matches(key, known_keys(), 1, cutoff)
            if ours or near:
                unknown[key] = near[0] if near else None
        return unknown

    def _put(self, key: str, value: Any) -> Configuration:
        if not isinstance(key, str) or not key:
            raise ValidationError(f"{key!r} is not a configuration key", do="pass a string")
        if value is None:
            raise ValidationError(
                f"the value of '{key}' is None", do="call remove_config(key) to take an entry out"
            )
        self._entries[key] = value if isinstance(value, bytes) else to_text(value)
        self._typed.pop(key, None)
        if isinstance(value, (int, float)):
            self._typed[key] = value
        return self

    def _read(self, key: str, kind: str, default: T) -> T:
        value = self._entries.get(key)
        if value is None:
            return default
        text = value.decode() if isinstance(value, bytes) else value
        return parse_value(key, text, kind)  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __copy__(self) -> Configuration:
        return Configuration(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Configuration:
        return Configuration(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self._entries == other._entries

    def __hash__(self) -> int:
        """Of the entries as they are now, as Flink's: a configuration that is changed afterwards has another hash."""
        return hash(frozenset(self._entries.items()))

    def __str__(self) -> str:
        return "{" + ", ".join(f"{key}={value}" for key, value in sorted(self.to_dict().items())) + "}"

    __repr__ = __str__
