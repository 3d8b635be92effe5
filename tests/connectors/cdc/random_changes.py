"""Random changes of a table: insertions, updates, deletions and changes of keys, in transactions of several.

random_changes.py SCHEME PORT TABLE SEED KEYS ROWS: makes them from another process, as many as its input says.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

USER, PASSWORD, DATABASE = "penstock", "it's secret", "shop"
TEXTS = ("", "pen", "ink", "größer", "a,b", "0", " x", "NULL")


class RandomChanges:
    """Statements that change a table `(id, name, price, note)`; the same ones for the same seed.

    Keys come from a small range, so that rows come back under keys that were there before, and changes of rows hit
    chunks that were read and others that were not.
    """

    def __init__(self, table: str, keys: int, seed: int, key: Callable[[int], Any] = int) -> None:
        self._table = table
        self._keys = keys
        self._key = key
        self._dice = random.Random(seed)
        self._there: set[int] = set()

    def rows(self, count: int) -> list[tuple[Any, ...]]:
        """Rows to begin with."""
        chosen = self._dice.sample(range(self._keys), count)
        self._there.update(chosen)
        return [(self._key(n), *self._values()) for n in chosen]

    def _values(self) -> tuple[Any, ...]:
        dice = self._dice
        price = None if dice.random() < 0.1 else f"{dice.randint(-10_000, 10_000) / 100:.2f}"
        return (
            dice.choice(TEXTS),
            price,
            None if dice.random() < 0.3 else dice.choice(TEXTS) * dice.randint(1, 40),
        )

    def transactions(self, changes: int) -> Iterator[list[tuple[str, tuple[Any, ...]]]]:
        """Transactions that make so many changes together."""
        while changes > 0:
            size = min(changes, self._dice.choice((1, 1, 1, 2, 3, 10, 50)))
            yield [self._change() for _ in range(size)]
            changes -= size

    def _change(self) -> tuple[str, tuple[Any, ...]]:
        dice, table = self._dice, self._table
        free = dice.randrange(self._keys)
        roll = dice.random()
        if free not in self._there and (roll < 0.4 or not self._there):
            self._there.add(free)
            return f"INSERT INTO {table} VALUES (%s, %s, %s, %s)", (self._key(free), *self._values())
        old = free if free in self._there else dice.choice(sorted(self._there))
        if roll < 0.65:
            values = (*self._values(), self._key(old))
            return f"UPDATE {table} SET name = %s, price = %s, note = %s WHERE id = %s", values
        if roll < 0.8 and free not in self._there:
            self._there.remove(old)
            self._there.add(free)
            return f"UPDATE {table} SET id = %s WHERE id = %s", (self._key(free), self._key(old))
        self._there.remove(old)
        return f"DELETE FROM {table} WHERE id = %s", (self._key(old),)


def connect(scheme: str, port: int) -> Any:
    if scheme == "postgresql":
        import psycopg

        return psycopg.connect(host="127.0.0.1", port=port, user=USER, password=PASSWORD, dbname=DATABASE)
    import pymysql

    return pymysql.connect(host="127.0.0.1", port=port, user=USER, password=PASSWORD, database=DATABASE)


def apply(connection: Any, transactions: Iterator[list[tuple[str, tuple[Any, ...]]]]) -> None:
    """Makes the changes; every seventh transaction is first made and rolled back."""
    for number, transaction in enumerate(transactions):
        for attempt in ("rolled back", "committed") if number % 7 == 0 else ("committed",):
            with connection.cursor() as cursor:
                for statement, values in transaction:
                    cursor.execute(statement, values)
            connection.rollback() if attempt == "rolled back" else connection.commit()


def main(scheme: str, port: str, table: str, seed: str, keys: str, rows: str) -> None:
    """Reads numbers from its input, makes so many changes, and says when they are made."""
    random_changes = RandomChanges(table, int(keys), int(seed))
    random_changes.rows(int(rows))  # those that the table began with
    connection = connect(scheme, int(port))
    for line in sys.stdin:
        apply(connection, random_changes.transactions(int(line)))
        print("made", line.strip(), flush=True)
    connection.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
