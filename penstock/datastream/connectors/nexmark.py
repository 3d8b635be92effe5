"""Nexmark's events for DataStream programs. PyFlink lacks it."""

from penstock.connectors.nexmark import NexmarkConfiguration, NexmarkSource

__all__ = ["NexmarkConfiguration", "NexmarkSource"]
