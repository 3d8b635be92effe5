"""Lines from a TCP server. PyFlink lacks it; Flink's Java API calls it `socketTextStream`."""

from penstock.connectors.socket.source import SocketSource

__all__ = ["SocketSource"]
