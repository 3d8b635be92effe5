"""`TimerService`, where PyFlink has it."""

from penstock.functions.timers import TimerService

__all__ = ["TimerService"]
