"""Arithmetic and mathematics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.table.expression_parts.base import Operand

if TYPE_CHECKING:
    from penstock.table.expression import Expression


class Numbers(Operand):
    """What can be done with numbers."""

    @property
    def exp(self) -> Expression:
        """e to the power of this."""
        return self._call("exp")

    @property
    def log10(self) -> Expression:
        """The logarithm to base 10."""
        return self._call("log10")

    @property
    def log2(self) -> Expression:
        """The logarithm to base 2."""
        return self._call("log2")

    @property
    def ln(self) -> Expression:
        """The natural logarithm."""
        return self._call("ln")

    def log(self, base: Any = None) -> Expression:
        """The logarithm to a base, or the natural one."""
        return self._call("log") if base is None else self._reversed("log", base)

    @property
    def cosh(self) -> Expression:
        """The hyperbolic cosine."""
        return self._call("cosh")

    @property
    def sinh(self) -> Expression:
        """The hyperbolic sine."""
        return self._call("sinh")

    @property
    def sin(self) -> Expression:
        """The sine."""
        return self._call("sin")

    @property
    def cos(self) -> Expression:
        """The cosine."""
        return self._call("cos")

    @property
    def tan(self) -> Expression:
        """The tangent."""
        return self._call("tan")

    @property
    def cot(self) -> Expression:
        """The cotangent."""
        return self._call("cot")

    @property
    def asin(self) -> Expression:
        """The arc sine."""
        return self._call("asin")

    @property
    def acos(self) -> Expression:
        """The arc cosine."""
        return self._call("acos")

    @property
    def atan(self) -> Expression:
        """The arc tangent."""
        return self._call("atan")

    @property
    def tanh(self) -> Expression:
        """The hyperbolic tangent."""
        return self._call("tanh")

    @property
    def degrees(self) -> Expression:
        """An angle of radians in degrees."""
        return self._call("degrees")

    @property
    def radians(self) -> Expression:
        """An angle of degrees in radians."""
        return self._call("radians")

    @property
    def sqrt(self) -> Expression:
        """The square root."""
        return self._call("sqrt")

    @property
    def abs(self) -> Expression:
        """The absolute value."""
        return self._call("abs")

    @property
    def sign(self) -> Expression:
        """-1, 0 or 1."""
        return self._call("sign")

    def round(self, places: Any) -> Expression:
        """Rounded half up to so many digits behind the point."""
        return self._call("round", places)

    def truncate(self, n: Any = 0) -> Expression:
        """Cut to so many digits behind the point."""
        return self._call("truncate", n)

    @property
    def bin(self) -> Expression:
        """A whole number in binary digits."""
        return self._call("bin")

    @property
    def hex(self) -> Expression:
        """A number or text in hexadecimal digits."""
        return self._call("hex")

    @property
    def unhex(self) -> Expression:
        """The bytes that hexadecimal digits stand for."""
        return self._call("UNHEX")
