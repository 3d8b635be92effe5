"""Collections inside accumulators, under PyFlink's path; the classes live in `penstock.functions.data_view`."""

from __future__ import annotations

from penstock.functions.data_view import DataView, ListView, MapView

__all__ = ["DataView", "ListView", "MapView"]
