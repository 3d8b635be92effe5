"""Committed state in LMDB on the local disk: a cache that any process of the host can open."""

from penstock.state.lmdb.store import LmdbStore

__all__ = ["LmdbStore"]
