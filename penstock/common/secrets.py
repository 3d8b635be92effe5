"""Values that nobody should see: keys that Flink calls sensitive, as `******` wherever configuration is shown.

>>> masked({"jdbc.password": "x", "parallelism.default": "2", "penstock.rest.token-file": "/run/token"})
{'jdbc.password': '******', 'parallelism.default': '2', 'penstock.rest.token-file': '/run/token'}
"""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["MASK", "is_secret", "masked", "masked_sql"]

MASK = "******"
_WORDS = re.compile(
    r"password|secret|apikey|api-key|api\.key|auth-params|service-key|service_key|token|basic-auth|jaas\.config"
    r"|http-headers|credential|passphrase|(^|[._-])private[._-]?key|(access|account|secret|encryption|sas)[._-]?key",
    re.IGNORECASE,
)
_PLACES = re.compile(
    r"[._-](file|path|dir|directory|location|type|enabled|algorithm|interval|timeout)s?$", re.IGNORECASE
)
_SQL_OPTION = re.compile(r"'((?:[^']|'')*)'(\s*=\s*)'(?:[^']|'')*'")
_IN_ADDRESS = re.compile(r"(?<=://)([^/\s:@]+):[^/\s@]+(?=@)")


def is_secret(key: str) -> bool:
    """Whether the value of a key is nobody's business; where a secret lies is not secret itself."""
    return _WORDS.search(key) is not None and _PLACES.search(key) is None


def masked(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings with secrets, and passwords within addresses, made unreadable."""
    return {
        str(key): MASK if is_secret(str(key)) else _IN_ADDRESS.sub(rf"\1:{MASK}", str(value))
        for key, value in settings.items()
    }


def masked_sql(text: str) -> str:
    """A statement whose secret options, and passwords within addresses, are made unreadable.

    >>> masked_sql("INSERT INTO t /*+ OPTIONS('password' = 'x''y', 'sink.parallelism'='2') */ SELECT 1")
    "INSERT INTO t /*+ OPTIONS('password' = '******', 'sink.parallelism'='2') */ SELECT 1"
    """

    def shown(option: re.Match[str]) -> str:
        return f"'{option[1]}'{option[2]}'{MASK}'" if is_secret(option[1]) else option[0]

    return _IN_ADDRESS.sub(rf"\1:{MASK}", _SQL_OPTION.sub(shown, text))
