"""java.util.Random, so that RAND(seed) gives the numbers it gives in Flink."""

from __future__ import annotations

_MULTIPLIER, _MASK = 0x5DEECE66D, (1 << 48) - 1


class JavaRandom:
    """The 48-bit linear congruential generator of the JDK.

    >>> round(JavaRandom(5).next_double(), 6)
    0.73052
    """

    def __init__(self, seed: int) -> None:
        self._seed = (seed ^ _MULTIPLIER) & _MASK

    def _next(self, bits: int) -> int:
        self._seed = (self._seed * _MULTIPLIER + 0xB) & _MASK
        value = self._seed >> (48 - bits)
        return value - (1 << bits) if value >= 1 << (bits - 1) and bits == 32 else value

    def next_double(self) -> float:
        high = self._next(26) << 27
        return (high + self._next(27)) * 2.0**-53

    def next_int(self, bound: int) -> int:
        """A number from 0 up to, not including, `bound`."""
        bits = self._next(31)
        if bound & (bound - 1) == 0:
            return (bound * bits) >> 31
        while True:
            value = bits % bound
            if bits - value + (bound - 1) < 1 << 31:
                return value
            bits = self._next(31)
