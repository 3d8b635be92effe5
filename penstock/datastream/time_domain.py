"""`TimeDomain`, where PyFlink has it."""

from penstock.functions.timers import TimeDomain

__all__ = ["TimeDomain"]
