"""Configuration options: a key, the type of its value, its default and its older spellings.

>>> ConfigOptions.key("my.retries").int_type().default_value(3)
ConfigOption('my.retries', Integer, 3)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.config_values import parse_value, to_text
from penstock.common.subscripts import Subscriptable

__all__ = ["ConfigOption", "ConfigOptions"]


class ConfigOption(Subscriptable):
    """One option. `Configuration.get(option)` reads it, or gives its default.

    Args:
        key: The key today.
        kind: Type of the value, as `config_values.PARSERS` names it, or Enum.
        default: The value when nothing is set; None means there is none.
        values: What an enum may be.
        fallback_keys: Older keys that are read when `key` is not set.
    """

    __slots__ = ("default", "fallback_keys", "key", "kind", "values")

    def __init__(
        self,
        key: str,
        kind: str = "String",
        default: Any = None,
        values: Sequence[str] = (),
        fallback_keys: Sequence[str] = (),
    ) -> None:
        self.key = key
        self.kind = kind
        self.values = tuple(values)
        self.default = None if default is None else parse_value(key, to_text(default), kind, self.values)
        self.fallback_keys = tuple(fallback_keys)

    def parse(self, text: Any) -> Any:
        """The value that a text means for this option."""
        return parse_value(self.key, text, self.kind, self.values)

    def with_fallback_keys(self, *keys: str) -> ConfigOption:
        """The option with older keys that are read where its own key is not set."""
        return ConfigOption(self.key, self.kind, self.default, self.values, (*self.fallback_keys, *keys))

    def with_key(self, key: str) -> ConfigOption:
        """The same option under another spelling, which errors then name."""
        return ConfigOption(key, self.kind, self.default, self.values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConfigOption):
            return False
        return (self.key, self.kind, self.default) == (other.key, other.kind, other.default)

    def __hash__(self) -> int:
        return hash((self.key, self.kind))

    def __repr__(self) -> str:
        return f"ConfigOption({self.key!r}, {self.kind}, {self.default!r})"


class ConfigOptions:
    """Where options are made, step by step: key, type, default."""

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        """Begins an option with this key; the builder's next call chooses its type."""
        return ConfigOptions.OptionBuilder(key)

    class OptionBuilder:
        """Knows the key; asks for the type."""

        def __init__(self, key: str) -> None:
            self._key = key

        def _typed(self, kind: str, values: Sequence[str] = ()) -> ConfigOptions.TypedConfigOptionBuilder:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, kind, values)

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder:
            """True or False."""
            return self._typed("Boolean")

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder:
            """A whole number of 32 bits."""
            return self._typed("Integer")

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder:
            """A whole number of 64 bits."""
            return self._typed("Long")

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder:
            """A number of 32 bits with decimals."""
            return self._typed("Float")

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder:
            """A number of 64 bits with decimals."""
            return self._typed("Double")

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder:
            """Any text."""
            return self._typed("String")

        def duration_type(self) -> ConfigOptions.TypedConfigOptionBuilder:
            """A time with its unit, such as "10 s"."""
            return self._typed("Duration")

        def memory_type(self) -> ConfigOptions.TypedConfigOptionBuilder:
            """A size with its unit, such as "512 mb"."""
            return self._typed("MemorySize")

        def map_type(self) -> ConfigOptions.TypedConfigOptionBuilder:
            """Keys and values, such as "a:1,b:2"."""
            return self._typed("Map")

        def enum_type(self, *values: str) -> ConfigOptions.TypedConfigOptionBuilder:
            """One of these texts; others are refused when the value is read."""
            return self._typed("Enum", values)

    class TypedConfigOptionBuilder:
        """Knows key and type; asks for the default."""

        def __init__(self, key: str, kind: str, values: Sequence[str] = ()) -> None:
            self._key, self._kind, self._values = key, kind, values

        def as_list(self) -> ConfigOptions.TypedConfigOptionBuilder:
            """A list of texts (of the enum's values, for an enum), written with semicolons between."""
            kind = "List<Enum>" if self._kind == "Enum" else "List<String>"
            return ConfigOptions.TypedConfigOptionBuilder(self._key, kind, self._values)

        def default_value(self, value: Any) -> ConfigOption:
            """The option, which has this value where none is set."""
            return ConfigOption(self._key, self._kind, value, self._values)

        def no_default_value(self) -> ConfigOption:
            """The option, which has no value unless one is set."""
            return ConfigOption(self._key, self._kind, None, self._values)
