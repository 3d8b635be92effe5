"""The table in which a database keeps how far each exactly-once sink has come.

    penstock_commits    lineage (the key) · epoch · attempt · owner · job_id · committed_at

A row for every job that was started from nothing. Rows of jobs that are gone for good may be deleted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from penstock.connectors.jdbc.database_table import JdbcDatabase

TABLE = "penstock_commits"
_COLUMNS = ("lineage", "epoch", "attempt", "owner", "job_id")
DDL = (
    f"CREATE TABLE {TABLE} (lineage VARCHAR(32) NOT NULL PRIMARY KEY, epoch BIGINT NOT NULL, "
    "attempt VARCHAR(32) NOT NULL, owner VARCHAR(32) NOT NULL, job_id VARCHAR(100) NOT NULL, "
    "committed_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP)"
)


class Mark(NamedTuple):
    """Which try of which epoch was written last, and by which driver."""

    lineage: str
    epoch: int
    attempt: str
    owner: str
    job_id: str


class Marks:
    """Reads and sets marks, in the transaction that a connection is in."""

    def __init__(self, database: JdbcDatabase) -> None:
        self._database = database
        mark = database.dialect.placeholder
        names = ", ".join(_COLUMNS)
        self._lock = f"UPDATE {TABLE} SET owner = owner WHERE lineage = {mark}"
        self._select = f"SELECT {names} FROM {TABLE} WHERE lineage = {mark}"
        self._insert = f"INSERT INTO {TABLE} ({names}) VALUES ({', '.join([mark] * len(_COLUMNS))})"
        sets = ", ".join(f"{name} = {mark}" for name in _COLUMNS[1:])
        self._update = f"UPDATE {TABLE} SET {sets}, committed_at = CURRENT_TIMESTAMP WHERE lineage = {mark}"

    def prepare(self, connection: Any) -> None:
        """Makes the table if it is not there; nothing else is in the transaction yet."""
        cursor = connection.cursor()
        try:
            cursor.execute(f"SELECT 1 FROM {TABLE} WHERE 1 = 0", ())
            connection.rollback()
        except self._database.dialect.errors():
            connection.rollback()
            do = f"let somebody with the right to do so execute\n{DDL}"
            with self._database.explained(f"the table {TABLE} cannot be made", do):
                cursor.execute(DDL, ())
                connection.commit()
        finally:
            cursor.close()

    def locked(self, connection: Any, lineage: str) -> Mark | None:
        """The mark, which nobody else can change until the transaction ends.

        It is locked by an UPDATE that changes nothing, which every database understands.
        """
        cursor = connection.cursor()
        cursor.execute(self._lock, (lineage,))
        cursor.execute(self._select, (lineage,))
        found = cursor.fetchone()
        cursor.close()
        return None if found is None else Mark(*found)

    def put(self, connection: Any, mark: Mark, is_there: bool) -> None:
        """Sets the mark; of two drivers that set the first one, the database refuses the second."""
        cursor = connection.cursor()
        if is_there:
            cursor.execute(self._update, (*mark[1:], mark.lineage))
        else:
            cursor.execute(self._insert, tuple(mark))
        cursor.close()
