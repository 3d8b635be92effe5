"""Made-up records. PyFlink lacks it; the names are those of Flink's Java connector."""

from penstock.connectors.datagen.source import DataGeneratorSource, GeneratorFunction, RateLimiterStrategy

__all__ = ["DataGeneratorSource", "GeneratorFunction", "RateLimiterStrategy"]
