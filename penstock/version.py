"""The version of this package."""

from penstock import __version__

__all__ = ["__version__"]
