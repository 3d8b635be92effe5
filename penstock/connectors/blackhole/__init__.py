"""The sink that takes everything and keeps nothing; for measuring what comes before it."""

from penstock.connectors.blackhole.sink import BlackHoleSink

__all__ = ["BlackHoleSink"]
