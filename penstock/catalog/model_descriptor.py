"""Machine learning models described in Python instead of DDL."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.catalog.partitions import CatalogModel
from penstock.catalog.schema import Schema
from penstock.catalog.table_descriptor import _key, _value, java_map_order
from penstock.common.errors import ValidationError

__all__ = ["ModelDescriptor"]


@dataclass(frozen=True)
class ModelDescriptor:
    """A model without a name: what goes in, what comes out, who computes it."""

    input_schema: Schema | None = None
    output_schema: Schema | None = None
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None

    @staticmethod
    def for_provider(provider: str) -> ModelDescriptor.Builder:
        """Begins the description of a model by who computes it."""
        return ModelDescriptor.Builder().option("provider", provider)

    def get_input_schema(self) -> Schema | None:
        """The columns that go in, None if not declared."""
        return self.input_schema

    def get_output_schema(self) -> Schema | None:
        """The columns that come out, None if not declared."""
        return self.output_schema

    def get_options(self) -> dict[str, str]:
        """A copy of the options, "provider" among them."""
        return dict(self.options)

    def get_comment(self) -> str | None:
        """The comment, None if there is none."""
        return self.comment

    def __hash__(self) -> int:
        return hash((self.input_schema, self.output_schema, frozenset(self.options.items()), self.comment))

    def __str__(self) -> str:
        """The part of a CREATE MODEL behind the model's name, without the words INPUT and OUTPUT, as in Flink."""
        schemas = [str(s) if s is not None else "" for s in (self.input_schema, self.output_schema)]
        options = ",\n".join(f"  '{k}' = '{v}'" for k, v in java_map_order(self.options))
        return "\n".join([*schemas, f"COMMENT '{self.comment or ''}'", f"WITH (\n{options}\n)"])

    def to_catalog_model(self) -> CatalogModel:
        """The model as a catalog keeps it.

        Raises:
            ValidationError: A schema is missing.
        """
        if self.input_schema is None or self.output_schema is None:
            missing = "input" if self.input_schema is None else "output"
            raise ValidationError(
                f"the model descriptor has no {missing} schema",
                do=f"call {missing}_schema(...) before build()",
            )
        return CatalogModel(self.input_schema, self.output_schema, dict(self.options), self.comment)

    class Builder:
        """Collects schemas and options."""

        def __init__(self) -> None:
            self._input: Schema | None = None
            self._output: Schema | None = None
            self._options: dict[str, str] = {}
            self._comment: str | None = None

        def input_schema(self, input_schema: Schema) -> ModelDescriptor.Builder:
            """Declares the columns that go in."""
            self._input = input_schema
            return self

        def output_schema(self, output_schema: Schema) -> ModelDescriptor.Builder:
            """Declares the columns that come out."""
            self._output = output_schema
            return self

        def option(self, key: Any, value: Any) -> ModelDescriptor.Builder:
            """Sets an option; the last value of a key counts.

            Args:
                key: The key as text or as a `ConfigOption`.
                value: Any value; it is kept as text, booleans in lower case.
            """
            self._options[_key(key)] = _value(value)
            return self

        def comment(self, comment: str) -> ModelDescriptor.Builder:
            """Sets what people are told about the model."""
            self._comment = comment
            return self

        def build(self) -> ModelDescriptor:
            """The model as described so far; schemas that are missing are told when it is registered."""
            return ModelDescriptor(self._input, self._output, dict(self._options), self._comment)
