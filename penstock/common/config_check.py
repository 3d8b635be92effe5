"""What a configuration says that was probably not meant: mistyped keys and values that cannot be read.

A key that nobody reads is accepted, as Flink accepts it, so a typing error would go unseen; it is told once.
A value that its option cannot have is refused before anything starts. What belongs to others (Spark, Python
workers, connectors, the program's own parameters) is left alone: `options.py` says whose a key is.

>>> print(*mistyped_keys(Configuration.from_dict({"parallelism.defalt": "2", "my.key": "1"})))
configuration key 'parallelism.defalt' is not known and has no effect: did you mean 'parallelism.default'?
"""

from __future__ import annotations

import logging

from penstock.common.configuration import Configuration
from penstock.common.errors import ValidationError
from penstock.common.options import StateOptions, belongs_to_others, has_effect, is_known, option_of

__all__ = ["check_configuration", "check_values", "keys_of_programs", "mistyped_keys", "tell_mistyped_keys"]

LOG = logging.getLogger(__name__)
_told: set[str] = set()


def check_configuration(configuration: Configuration) -> None:
    """Refuses values that their options cannot have, and warns of mistyped keys, once each in a process.

    Raises:
        ValidationError: With the key, the value and what is expected.
    """
    tell_mistyped_keys(configuration)
    check_values(configuration)


def check_values(configuration: Configuration) -> None:
    """Refuses values that their options cannot have.

    Raises:
        ValidationError: It tells all of them.
    """
    refused = []
    for key, value in configuration.to_dict().items():
        try:
            _check_value(key, value)
        except ValidationError as error:
            refused.append(error)
    if len(refused) == 1:
        raise refused[0]
    if refused:
        raise ValidationError("\n".join(map(str, refused)))


def tell_mistyped_keys(configuration: Configuration) -> None:
    """Logs a warning of each mistyped key that was not told before."""
    for warning in mistyped_keys(configuration):
        if warning not in _told:
            _told.add(warning)
            LOG.warning(warning)


def mistyped_keys(configuration: Configuration) -> list[str]:
    """A sentence for each key that looks like one of Flink's or ours and is not."""
    told = []
    for key, near in configuration.unknown_keys().items():
        hint = f": did you mean '{near}'?" if near else ""
        told.append(f"configuration key '{key}' is not known and has no effect{hint}")
    return told


def keys_of_programs(configuration: Configuration) -> list[str]:
    """Keys that no option has and that look like none: whoever sets them must read them himself."""
    mistyped = configuration.unknown_keys()
    return [
        key
        for key in configuration.to_dict()
        if not (is_known(key) or belongs_to_others(key) or key in mistyped)
    ]


def _check_value(key: str, value: str) -> None:
    known = option_of(key)
    if known is None or not has_effect(known.key):
        return
    if known == StateOptions.CLAIM_MODE and value.upper() == "LEGACY":
        return  # refused with its reason by whoever restores
    known.with_key(key).parse(value)
