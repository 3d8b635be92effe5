"""Sources one after the other, under PyFlink's name."""

from penstock.connectors.hybrid.source import HybridSource, HybridSourceBuilder

__all__ = ["HybridSource", "HybridSourceBuilder"]
