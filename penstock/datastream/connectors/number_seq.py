"""Numbers in parallel, under PyFlink's name."""

from penstock.connectors.number_sequence import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
