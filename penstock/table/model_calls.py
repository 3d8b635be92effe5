"""What a TableEnvironment does with models: catalogs keep them, and nothing here computes with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.catalog.identifiers import split_path
from penstock.catalog.model_descriptor import ModelDescriptor
from penstock.common.errors import ValidationError

if TYPE_CHECKING:
    from penstock.sql.session import SqlSession


class ModelCalls:
    """The part of TableEnvironment that is about models."""

    _session: SqlSession

    def create_model(
        self, model_path: str, model_descriptor: ModelDescriptor, ignore_if_exists: bool | None = False
    ) -> None:
        """Keeps the model in the catalog."""
        identifier = self._session.catalogs.identifier(split_path(model_path))
        catalog = self._session.catalogs.catalog(identifier.catalog_name)
        model = model_descriptor.to_catalog_model()
        catalog.create_model(identifier.to_object_path(), model, bool(ignore_if_exists))

    def create_temporary_model(
        self, model_path: str, model_descriptor: ModelDescriptor, ignore_if_exists: bool | None = False
    ) -> None:
        """Keeps the model as long as the environment lives, in front of one of the catalog with its name."""
        identifier = self._session.catalogs.identifier(split_path(model_path))
        models = self._session.catalogs.temporary_models
        if identifier in models:
            if ignore_if_exists:
                return
            raise ValidationError(f"temporary model '{identifier.as_summary_string()}' already exists")
        models[identifier] = model_descriptor.to_catalog_model()

    def drop_model(self, model_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Removes the model from the catalog; False if there was none."""
        identifier = self._session.catalogs.identifier(split_path(model_path))
        catalog = self._session.catalogs.catalog(identifier.catalog_name)
        path = identifier.to_object_path()
        existed = catalog.model_exists(path)
        catalog.drop_model(path, bool(ignore_if_not_exists))
        return existed

    def drop_temporary_model(self, model_path: str) -> bool:
        """Removes a temporary model; False if there was none."""
        identifier = self._session.catalogs.identifier(split_path(model_path))
        return self._session.catalogs.temporary_models.pop(identifier, None) is not None

    def list_models(self) -> list[str]:
        """Models that the current database keeps."""
        catalogs = self._session.catalogs
        return catalogs.catalog(catalogs.current_catalog).list_models(catalogs.current_database or "")

    def list_temporary_models(self) -> list[str]:
        """Temporary models of the current database."""
        catalogs = self._session.catalogs
        here = (catalogs.current_catalog, catalogs.current_database)
        return sorted(
            i.object_name for i in catalogs.temporary_models if (i.catalog_name, i.database_name) == here
        )
