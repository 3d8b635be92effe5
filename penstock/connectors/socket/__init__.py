"""Lines from a TCP connection."""

from penstock.connectors.socket.source import SocketSource

__all__ = ["SocketSource"]
