"""Kinds of changelogs, under PyFlink's path; see `penstock.catalog.changelog_mode`."""

from __future__ import annotations

from penstock.catalog.changelog_mode import ChangelogMode

__all__ = ["ChangelogMode"]
