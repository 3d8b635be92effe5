"""The events of Nexmark, an auction house: people register, sell items and bid. `'connector' = 'nexmark'` in SQL.

An event is a function of its number and the configuration, in columns (`events.py`). So whoever reads, from wherever,
at whatever parallelism, finds the same events.
"""

from penstock.connectors.nexmark.configuration import NexmarkConfiguration
from penstock.connectors.nexmark.source import NexmarkSource

__all__ = ["NexmarkConfiguration", "NexmarkSource"]
