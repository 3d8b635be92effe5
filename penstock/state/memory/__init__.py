"""Committed state in plain dicts: for tests, harnesses and `state.backend.type: hashmap`."""

from penstock.state.memory.store import MemoryStore

__all__ = ["MemoryStore"]
