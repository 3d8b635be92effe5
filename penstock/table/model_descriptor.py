"""Models described in Python, under PyFlink's path; see `penstock.catalog.model_descriptor`."""

from __future__ import annotations

from penstock.catalog.model_descriptor import ModelDescriptor

__all__ = ["ModelDescriptor"]
