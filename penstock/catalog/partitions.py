"""Partitions and models: what catalogs hold beside tables and functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.catalog.schema import Schema
from penstock.util.exceptions import PartitionSpecInvalidException

__all__ = ["CatalogModel", "CatalogPartition", "CatalogPartitionSpec"]


class CatalogPartitionSpec:
    """Values of partition columns, all of them or the ones a listing asks for. The order does not matter.

    >>> CatalogPartitionSpec({"a": "1", "b": "2"}) == CatalogPartitionSpec({"b": "2", "a": "1"})
    True
    """

    def __init__(self, partition_spec: Mapping[str, str]) -> None:
        self._values = {str(key): str(value) for key, value in partition_spec.items()}

    def get_partition_spec(self) -> dict[str, str]:
        """A copy of the values, by column."""
        return dict(self._values)

    def is_part_of(self, other: CatalogPartitionSpec) -> bool:
        """Whether the other one has all the values of this one."""
        return self._values.items() <= other._values.items()

    def check(self, keys: Sequence[str], *, full: bool, where: str) -> None:
        """Refuses columns that are no partition columns and, if it has to be a full one, columns left out.

        Raises:
            PartitionSpecInvalidException: It does not fit.
        """
        fits = set(self._values) == set(keys) if full else set(self._values) <= set(keys)
        if not fits:
            raise PartitionSpecInvalidException(
                f"{self} does not fit the partition columns {', '.join(keys)}", where=where
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CatalogPartitionSpec) and self._values == other._values

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __str__(self) -> str:
        return "CatalogPartitionSpec{" + ", ".join(f"{k}={v}" for k, v in self._values.items()) + "}"

    __repr__ = __str__


@dataclass(frozen=True)
class CatalogPartition:
    """What a catalog knows about a partition."""

    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None

    @staticmethod
    def create_instance(properties: Mapping[str, str], comment: str | None = None) -> CatalogPartition:
        """A partition to be put into a catalog."""
        return CatalogPartition(dict(properties), comment)

    def get_properties(self) -> dict[str, str]:
        """A copy of the properties."""
        return dict(self.properties)

    def get_comment(self) -> str:
        """The comment, "" if there is none."""
        return self.comment or ""

    def get_description(self) -> str | None:
        """The comment, None if there is none."""
        return self.comment

    def get_detailed_description(self) -> str | None:
        """The same as `get_description`."""
        return self.comment

    def copy(self) -> CatalogPartition:
        """An equal partition whose properties are its own."""
        return replace(self, properties=dict(self.properties))


@dataclass(frozen=True)
class CatalogModel:
    """A machine learning model by its columns in and out; the provider is an option."""

    input_schema: Schema = field(default_factory=Schema)
    output_schema: Schema = field(default_factory=Schema)
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None

    @staticmethod
    def create_model(
        input_schema: Schema,
        output_schema: Schema,
        options: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> CatalogModel:
        """A model to be put into a catalog.

        Args:
            input_schema: The columns that go in.
            output_schema: The columns that come out.
            options: Its options; "provider" says who computes it.
            comment: What people are told about it.
        """
        return CatalogModel(input_schema, output_schema, dict(options or {}), comment)

    def get_input_schema(self) -> Schema:
        """The columns that go in."""
        return self.input_schema

    def get_output_schema(self) -> Schema:
        """The columns that come out."""
        return self.output_schema

    def get_options(self) -> dict[str, str]:
        """A copy of the options."""
        return dict(self.options)

    def get_comment(self) -> str | None:
        """The comment, None if there is none."""
        return self.comment

    def copy(self, options: Mapping[str, str] | None = None) -> CatalogModel:
        """An equal model; with other options if they are given."""
        return replace(self, options=dict(self.options if options is None else options))
