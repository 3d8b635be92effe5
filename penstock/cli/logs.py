"""The log of a process that the command line has started, while its program has no logging of its own.

What no handler takes, Python gives to a last resort, which writes warnings to stderr, as bare texts. Here another one
stands in for it, which writes whatever the levels let through. So nothing is added to the root logger: a program's
`logging.basicConfig` finds it as it always does, and takes over.

>>> levels_of(Configuration.from_dict({"penstock.log.level": "info", "penstock.log.level.my.job": "OFF"}))
{'': 20, 'my.job': 51}
"""

from __future__ import annotations

import logging
import sys

from penstock.common.config_values import parse_value
from penstock.common.configuration import Configuration
from penstock.common.options import option
from penstock.runtime.job_log import EPOCHS
from penstock.runtime.spark.quiet import quiet_loggers

__all__ = ["FORMAT", "levels_of", "set_levels", "show_log"]

FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
_LEVEL = option("penstock.log.level")
_LEVELS = {  # log4j's names, which Flink's users know, and Python's
    "TRACE": logging.DEBUG,
    "WARN": logging.WARNING,
    "FATAL": logging.CRITICAL,
    "OFF": logging.CRITICAL + 1,
    **{name: getattr(logging, name) for name in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")},
}


class _Stderr(logging.Handler):
    """To stderr as it is at the time: a terminal gets the message alone, a log the time and who says it, too."""

    def __init__(self) -> None:
        super().__init__()
        self._in_a_log = logging.Formatter(FORMAT)
        self._alone = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            formatter = self._alone if sys.stderr.isatty() else self._in_a_log
            sys.stderr.write(formatter.format(record) + "\n")
            sys.stderr.flush()
        except Exception:
            self.handleError(record)


def show_log(configuration: Configuration) -> None:
    """Lets what is logged be seen, as far as the configuration says and unless the program sees to it.

    Raises:
        ValidationError: A level is none.
    """
    set_levels(configuration)
    logging.lastResort = _Stderr()  # type: ignore[assignment]
    epochs = logging.getLogger(EPOCHS)
    if epochs.level == logging.NOTSET:
        epochs.setLevel(logging.INFO)  # jobs ask for them by an option of their own
        epochs.addFilter(_unless_others_decide)


def _unless_others_decide(record: logging.LogRecord) -> bool:
    """A line of an epoch, unless the program has logging of its own that would not let it through."""
    return not logging.getLogger().handlers or logging.getLogger("penstock").isEnabledFor(record.levelno)


def set_levels(configuration: Configuration) -> None:
    """Sets the levels that the configuration has, and keeps Spark's and py4j's talk out unless it wants them.

    Raises:
        ValidationError: A level is none.
    """
    for name, level in levels_of(configuration).items():
        logging.getLogger(name or None).setLevel(level)
    quiet_loggers()


def levels_of(configuration: Configuration) -> dict[str, int]:
    """By logger; the root has no name, and nothing is said of it unless the configuration does."""
    found = {"": _LEVELS[configuration.get(_LEVEL)]} if configuration.contains(_LEVEL) else {}
    prefix = f"{_LEVEL.key}."
    for key, value in configuration.to_dict().items():
        if key.startswith(prefix):
            found[key.removeprefix(prefix)] = _LEVELS[parse_value(key, value, _LEVEL.kind, _LEVEL.values)]
    return found
