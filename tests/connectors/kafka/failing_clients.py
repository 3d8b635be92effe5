"""Clients that fail once, where and how a test wants; they live in processes beside the one of the tests.

The property `penstock.failed` names a file, which tells that it has happened.
"""

from __future__ import annotations

import os
import pathlib
import threading
import time

from penstock.connectors.kafka.transaction_client import TransactionClient


class FailsOnce(TransactionClient):
    def failed_before(self) -> bool:
        """False the first time, and True ever after, in whatever process."""
        path = pathlib.Path(self._cluster.properties["penstock.failed"])
        before = path.exists()
        path.touch()
        return before


class DriverDiesBeforeTheCommit(FailsOnce):
    def commit(self) -> None:
        if not self.failed_before():
            self._producer.flush()
            raise SystemExit
        super().commit()


class DriverDiesAfterTheCommit(FailsOnce):
    def commit(self) -> None:
        super().commit()
        if not self.failed_before():
            raise SystemExit


class ClientDiesBeforeTheCommit(FailsOnce):
    """As by one of the library's assertions."""

    def commit(self) -> None:
        if not self.failed_before():
            self._producer.flush()
            os.abort()
        super().commit()


class ClientDiesAfterTheCommit(FailsOnce):
    def commit(self) -> None:
        super().commit()
        if not self.failed_before():
            os.abort()


class TakesTooLong(FailsOnce):
    def commit(self) -> None:
        if not self.failed_before():
            self._producer.flush()
            time.sleep(4)
        super().commit()


class NeverComesBack(FailsOnce):
    """As librdkafka's call when a broker goes down meanwhile."""

    def mark(self, topic: str, epoch: int, note: str) -> None:
        if not self.failed_before():
            threading.Event().wait()
        super().mark(topic, epoch, note)
