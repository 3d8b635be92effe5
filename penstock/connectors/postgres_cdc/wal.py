"""The replication stream of a slot, between two places of the log.

The server sends transactions when they commit, one after the other, and says from time to time how far it has
looked. So an epoch that is to read up to a place is over when a transaction comes whose commit is behind it, or the
server says that it has passed it. That transaction's messages are kept for the next epoch, and the stream stays
open: opening one makes the server decode again from where the slot last moved on.

A slot has one reader. One of our own that still holds it (a task whose place was taken by another one, in another
process) is sent away; a reader of somebody else is not.
"""

from __future__ import annotations

import select
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from penstock.common.errors import ExternalSystemError
from penstock.connectors.cdc.model import CapturedTable, Change, LogPosition, Place
from penstock.connectors.postgres_cdc.pgoutput import Begin, Commit, Decoder, LoaderOf
from penstock.connectors.postgres_cdc.server import PostgresDatabase, psycopg, quote
from penstock.connectors.postgres_cdc.slot import check_reachable, lsn_text

BATCH_CHANGES = 2000
_STATUS = struct.Struct("!cQQQqB")
_DATA = struct.Struct("!cQQq")
_ALIVE = struct.Struct("!cQqB")
_WAIT_S = 0.2
_PAUSE_S = 0.05
_SILENCE_S = 300
"""How long the server may decode a transaction before its first word about it."""
_YEAR_2000_S = 946_684_800


class WalStream:
    """Reads on from where it stands if it can; owns a replication connection."""

    def __init__(self, database: PostgresDatabase, source_id: str, loader: Callable[[], LoaderOf]) -> None:
        self._database = database
        self._source_id = source_id
        self._loader = loader
        self._connection: Any = None
        self._next: LogPosition | None = None
        self._tables: Sequence[CapturedTable] = ()
        self._decoder: Decoder | None = None
        self._held: deque[bytes] = deque()
        self._passed = 0
        self._confirmed = 0
        self._handed = False
        self._inside = False  # a transaction of which some messages were handed out

    def read(
        self, tables: Sequence[CapturedTable], position: LogPosition, end: Place, confirmed: Place | None
    ) -> Iterator[tuple[list[Change], LogPosition]]:
        """Changes and the position after them; the last position is `end`.

        A server cuts off streams that say nothing for a while, so one that was kept is opened again if it is broken.
        """
        here = LogPosition(position.place, position.skip)
        kept = self._next == here and self._tables == tables and self._connection is not None
        if not kept:
            self._open(tables, here)
        try:
            yield from self._read(here, end, confirmed)
        except ExternalSystemError as error:
            self.close()
            if not kept or self._handed or not error.retryable:
                raise
            self._open(tables, here)
            yield from self._read(here, end, confirmed)

    def _read(
        self, here: LogPosition, end: Place, confirmed: Place | None
    ) -> Iterator[tuple[list[Change], LogPosition]]:
        self._next = None  # until changes are handed over: what fails before that is read again
        self._handed = False
        if confirmed is not None and confirmed[0] > self._confirmed:
            self._confirmed = min(confirmed[0], here.place[0])
        self._say()
        for changes, after in self._transactions(here, end[0]):
            self._next, self._handed = after, True
            yield changes, after
            self._next = None
        self._next = LogPosition(end)

    # --- transactions

    def _transactions(self, at: LogPosition, end: int) -> Iterator[tuple[list[Change], LogPosition]]:
        decoder = self._decoder
        assert decoder is not None, "the stream is open"
        batch: list[Change] = []
        place, skip = at.place[0], at.skip
        done = skip  # changes of the transaction at hand
        seen = skip if self._inside else 0
        while (message := self._message(end)) is not None:
            found = decoder.decode(message)
            if isinstance(found, Begin):
                if found.commit >= end:
                    self._held.appendleft(message)
                    break
                self._inside, seen = True, 0
            elif isinstance(found, Commit):
                self._inside = False
                place, skip, done = found.end, 0, 0
            elif found is not None:
                batch += found[max(0, skip - seen) :]
                seen += len(found)
                done = max(skip, seen)
            if len(batch) >= BATCH_CHANGES:
                yield batch, LogPosition((place,), done if self._inside else 0)
                batch = []
        yield batch, LogPosition((end,))

    def _message(self, end: int) -> bytes | None:
        """The next message of the plug-in; None: the server has sent everything before `end`."""
        if self._held:
            return self._held.popleft()
        asked = 0.0
        deadline = time.monotonic() + _SILENCE_S
        while True:
            size, data = self._copied()
            if size > 0:
                message = bytes(data)
                if message[:1] == b"w":
                    return message[_DATA.size :]
                _, passed, _, reply = _ALIVE.unpack_from(message)
                self._passed = max(self._passed, passed)
                if reply:
                    self._say()
                deadline = time.monotonic() + _SILENCE_S
            elif self._passed >= end and not self._inside:
                return None
            else:
                now = time.monotonic()
                if now > deadline:
                    raise self._database.failed("the replication stream gave no answer", "it timed out")
                if now - asked > _PAUSE_S:
                    self._say(asks=True)
                    asked = now
                self._wait(_PAUSE_S)

    def _copied(self) -> tuple[int, Any]:
        with self._database.explained("the replication stream broke"):
            size, data = self._connection.pgconn.get_copy_data(1)
        if size < 0:
            raise self._database.failed("the replication stream ended", self._reason())
        return size, data

    def _reason(self) -> str:
        result = self._connection.pgconn.get_result()
        return "the server closed it" if result is None else result.error_message.decode("utf-8", "replace")

    def _wait(self, seconds: float) -> None:
        pgconn = self._connection.pgconn
        select.select([pgconn.socket], [], [], seconds)
        with self._database.explained("the replication stream broke"):
            pgconn.consume_input()

    def _say(self, asks: bool = False) -> None:
        """Tells the server up to where it may forget; `asks`: it shall say how far it is."""
        now = round((time.time() - _YEAR_2000_S) * 1_000_000)
        place = self._confirmed
        pgconn = self._connection.pgconn
        with self._database.explained("the replication stream broke"):
            pgconn.put_copy_data(_STATUS.pack(b"r", place, place, place, now, 1 if asks else 0))
            while pgconn.flush():
                select.select([], [pgconn.socket], [], _WAIT_S)

    # --- opening

    def _open(self, tables: Sequence[CapturedTable], position: LogPosition) -> None:
        self.close()
        database = self._database
        with database.explained("cannot read the replication slot"):
            with database.connect(f"{self._source_id} slot") as connection:
                check_reachable(database, connection, position.place)
            self._start(position)
        self._decoder = Decoder(tables, self._loader(), database.where)
        self._tables = tables
        self._inside = False

    def _start(self, position: LogPosition) -> None:
        database = self._database
        command = (
            f"START_REPLICATION SLOT {quote(database.slot)} LOGICAL {lsn_text(position.place[0])} "
            f"(proto_version '1', publication_names '{quote(database.publication)}')"
        )
        deadline = time.monotonic() + database.login.timeout_s
        while True:
            connection = database.connect(self._source_id, replication="database")
            result = connection.pgconn.exec_(command.encode())
            if result.status == psycopg().pq.ExecStatus.COPY_BOTH:
                self._connection = connection
                return
            reason = result.error_message.decode("utf-8", "replace")
            connection.close()
            if result.error_field(psycopg().pq.DiagnosticField.SQLSTATE) != b"55006":
                raise self._refused(reason)
            holder = self._send_own_away()
            if time.monotonic() > deadline:
                raise database.failed(
                    f"the replication slot '{database.slot}' is in use by {holder}", reason,
                    "stop the other reader, or choose another 'slot.name'",
                )  # fmt: skip
            time.sleep(_PAUSE_S)

    def _refused(self, reason: str) -> ExternalSystemError:
        database = self._database
        if "requested WAL segment" in reason or "can no longer" in reason or "invalidated" in reason:
            return database.lost(
                "the server has removed parts of the log that the replication slot needs: "
                f"{' '.join(reason.split())}",
                "drop the slot and start without the checkpoint, which takes a new snapshot",
            )
        return database.failed(f"cannot read the replication slot '{database.slot}'", reason)

    def _send_own_away(self) -> str:
        """Who has the slot; if it is one of ours, it is told to leave."""
        with self._database.connect(f"{self._source_id} slot") as connection:
            row = connection.execute(
                "SELECT a.pid, a.application_name, a.client_addr::text FROM pg_replication_slots s "
                "JOIN pg_stat_activity a ON a.pid = s.active_pid WHERE s.slot_name = %s",
                (self._database.slot,),
            ).fetchone()
            if row is None:
                return "nobody"
            pid, name, address = row
            if name == self._source_id:
                connection.execute("SELECT pg_terminate_backend(%s)", (pid,))
            return f"process {pid} ({name or 'without a name'}, from {address})"

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._next = None
        self._held.clear()
        self._passed = 0
        self._inside = False
