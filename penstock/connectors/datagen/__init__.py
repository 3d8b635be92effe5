"""Made-up records: a function of the index, counted and rate-limited."""

from penstock.connectors.datagen.source import DataGeneratorSource, GeneratorFunction, RateLimiterStrategy

__all__ = ["DataGeneratorSource", "GeneratorFunction", "RateLimiterStrategy"]
