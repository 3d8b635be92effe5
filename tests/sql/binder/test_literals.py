"""Types of literals."""

from __future__ import annotations

import pytest

from penstock.sql.binder import literals


@pytest.mark.parametrize(
    ("text", "type_text"),
    [
        ("1", "INT NOT NULL"),
        ("3000000000", "BIGINT NOT NULL"),
        ("1.5", "DECIMAL(2, 1) NOT NULL"),
        ("0.001", "DECIMAL(4, 3) NOT NULL"),
        ("100.0", "DECIMAL(4, 1) NOT NULL"),
        ("-0.5", "DECIMAL(2, 1) NOT NULL"),
        ("1e3", "DOUBLE NOT NULL"),
    ],
)
def test_every_written_digit_of_a_decimal_counts(text: str, type_text: str) -> None:
    assert literals.number(text).type.as_summary() == type_text
