"""What goes wrong with names in catalogs; the kinds of it are in `penstock.util.exceptions`."""

from __future__ import annotations

from penstock.util.exceptions import CatalogError

__all__ = ["CatalogError"]
