"""Things that other packages offer by Python entry points, found by name and imported when they are asked for."""

from __future__ import annotations

from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from penstock.common.errors import ValidationError

__all__ = ["Plugins"]


class Plugins:
    """The entry points of a group. They are listed once per process, and none is imported before it is wanted.

    Args:
        group: The group's name in the packages' metadata.
        what: What the entry points are, for messages: 'connector'.
    """

    def __init__(self, group: str, what: str) -> None:
        self._group = group
        self._what = what

    @cached_property
    def _found(self) -> dict[str, list[EntryPoint]]:
        found: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=self._group):
            claims = found.setdefault(point.name, [])
            if point not in claims:  # a package that is on the path twice
                claims.append(point)
        return found

    def forget(self) -> None:
        """Packages are looked for again, as after an installation."""
        self.__dict__.pop("_found", None)

    def names(self) -> list[str]:
        """The names that installed packages offer, in order."""
        return sorted(self._found)

    def load(self, name: str, where: str | None = None) -> Any:
        """What the entry point of that name stands for; None if no package has one.

        Raises:
            ValidationError: It cannot be imported, or several packages offer the name.
        """
        claims = self._found.get(name, [])
        if len(claims) > 1:
            others = " and ".join(sorted(package_of(point) for point in claims))
            raise ValidationError(
                f"{self._what} '{name}' is offered by several packages: {others}",
                where=where,
                do="uninstall all of them but one",
            )
        if not claims:
            return None
        try:
            return claims[0].load()
        except Exception as error:
            raise self.refused(name, f"{type(error).__name__}: {error}", where) from error

    def refuse_claims(self, name: str, where: str | None = None) -> None:
        """For a name that is taken: refuses it as long as a package offers it too, as nobody can tell which is meant.

        Raises:
            ValidationError: A package does.
        """
        if name in self._found:
            raise self.refused(name, "that name is taken by Penstock itself", where)

    def refused(self, name: str, cause: str, where: str | None = None) -> ValidationError:
        """The error that tells which package offers `name`, and why it cannot be used."""
        point = self._found[name][0]
        return ValidationError(
            f"{self._what} '{name}' of package {package_of(point)} cannot be used: {cause}",
            where=where,
            do=f"its entry point is '{point.name} = {point.value}' in the group {self._group}: "
            "correct or uninstall the package",
        )


def package_of(point: EntryPoint) -> str:
    """The name of the package that an entry point comes from."""
    return point.dist.name if point.dist is not None else "(unknown)"
