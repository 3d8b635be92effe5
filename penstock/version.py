"""The version of this package, and of the Flink whose interfaces it speaks."""

from penstock import __version__

__all__ = ["FLINK_VERSION", "__version__"]

FLINK_VERSION = "2.3.0"
"""What clients that ask for Flink's version are told."""
