"""When a task of a batch job may start: after any, or after all of its inputs."""

from __future__ import annotations

import enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(enum.Enum):
    """Spark decides when tasks start, so this is only here for programs that name it."""

    ANY = 0
    ALL = 1
