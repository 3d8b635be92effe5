"""PyFlink's path of the shell: `python -i -m pyflink.shell`, or `from pyflink.shell import st_env`.

`penstock shell` is the command; see `penstock.cli.shell`.
"""

from __future__ import annotations

from typing import Any

_made: dict[str, Any] = {}


def __getattr__(name: str) -> Any:
    """The names of the prompt, made when the first of them is asked for."""
    if name.startswith("__"):
        raise AttributeError(name)
    if not _made:
        from penstock.cli.shell import shell_names

        _made.update(shell_names())
    if name not in _made:
        raise AttributeError(f"module 'penstock.shell' has no attribute {name!r}")
    return _made[name]


if __name__ == "__main__":
    from penstock.cli.shell import run_shell

    run_shell()
