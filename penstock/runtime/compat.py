"""Lets a program that says `import pyflink` run here unchanged; see `penstock.common.pyflink_alias`."""

from __future__ import annotations

from penstock.common.pyflink_alias import install_pyflink_alias

__all__ = ["install_pyflink_alias"]
