"""Several sources, one after the other."""

from penstock.connectors.hybrid.source import HybridSource, HybridSourceBuilder

__all__ = ["HybridSource", "HybridSourceBuilder"]
