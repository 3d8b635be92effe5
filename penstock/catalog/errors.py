"""What goes wrong with names in catalogs."""

from __future__ import annotations

from penstock.common.errors import ValidationError

__all__ = ["CatalogError"]


class CatalogError(ValidationError):
    """An object is missing, or is there already."""

    code = "CATALOG"
