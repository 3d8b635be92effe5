"""StatsD over UDP: every number is a gauge, as Flink's reporter sends them.

Options: `host` (localhost) and `port` (8125). Nobody needs to listen.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence

from penstock.metrics.reporters.reporter import MetricReporter
from penstock.metrics.samples import Sample

__all__ = ["StatsDReporter"]

_DATAGRAM_BYTES = 1400


class StatsDReporter(MetricReporter):
    """Several numbers share a datagram, a line each."""

    def open(self, collect: Callable[[], Sequence[Sample]]) -> None:
        """Makes the socket; nothing is sent yet."""
        self._address = (
            self.settings.get("host", default="localhost"),
            self.settings.get("port", "Integer", 8125),
        )
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def report(self, samples: Sequence[Sample]) -> None:
        """Sends the metrics, several to a datagram; nobody says whether they arrived."""
        for datagram in datagrams(line for sample in samples for line in self._lines(sample)):
            self._socket.sendto(datagram, self._address)

    def _lines(self, sample: Sample) -> Iterator[str]:
        name = self.settings.identifier(sample).replace(":", "-").replace("|", "-").replace("\n", " ")
        for part, number in sample.numbers().items():
            full = f"{name}.{part}" if part else name
            if number < 0:  # a sign means "change by": only from zero is it the value
                yield f"{full}:0|g"
            yield f"{full}:{number}|g"

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()


def datagrams(lines: Iterator[str]) -> Iterator[bytes]:
    """Lines in packets that no network cuts.

    >>> list(datagrams(iter(["a:1|g", "b:2|g"])))
    [b'a:1|g\\nb:2|g']
    """
    packet: list[bytes] = []
    size = 0
    for line in lines:
        encoded = line.encode()
        if packet and size + 1 + len(encoded) > _DATAGRAM_BYTES:
            yield b"\n".join(packet)
            packet, size = [], 0
        packet.append(encoded)
        size += len(encoded) + 1
    if packet:
        yield b"\n".join(packet)
