"""What goes through the pipes between the driver and the processes of its Kafka clients: pickled values, one a frame.

Both ends are this program, and nobody else holds the pipes.
"""

from __future__ import annotations

import pickle
import struct
from typing import IO, Any

_LENGTH = struct.Struct(">Q")


def packed(value: Any) -> bytes:
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


def write_frame(pipe: IO[bytes], data: bytes) -> None:
    """Sends what was packed."""
    pipe.write(_LENGTH.pack(len(data)))
    pipe.write(data)
    pipe.flush()


def read_frame(pipe: IO[bytes]) -> Any:
    """The next value.

    Raises:
        EOFError: The other end is gone.
    """
    return pickle.loads(_read(pipe, _LENGTH.unpack(_read(pipe, _LENGTH.size))[0]))


def _read(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data
