"""`penstock shell`: a Python prompt with environments ready, as PyFlink's shell.

The prompt is IPython's where it is installed, else Python's own. Names are those of PyFlink's shell: `s_env`,
`st_env`, and everything of the packages below. `Schema` is that of `penstock.table`: PyFlink's shell hides it behind
the descriptor of Flink 1.x. `col`, `lit` and what makes functions are there too. Spark starts with the first job.
"""

from __future__ import annotations

import code
import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from penstock.version import __version__

_PACKAGES = ("common", "datastream", "table", "table.catalog", "table.window", "metrics")
_MORE = {
    "table.descriptors": ("Rowtime",),
    "table.expressions": ("call", "col", "lit", "row"),
    "table.udf": ("udaf", "udf", "udtaf", "udtf"),
}

BANNER = f"""penstock {__version__}, Python {sys.version.split()[0]}

  s_env    the StreamExecutionEnvironment
  st_env   the StreamTableEnvironment over it: st_env.execute_sql("SELECT 1").print()

Ctrl-C stops what is running, Ctrl-D leaves; jobs that still run end with the shell."""


def shell_names() -> dict[str, Any]:
    """What the prompt knows: the names of the API, and fresh environments."""
    found: dict[str, Any] = {}
    for package in _PACKAGES:
        module = importlib.import_module(f"penstock.{package}")
        found.update({name: getattr(module, name) for name in module.__all__})
    for package, names in _MORE.items():
        module = importlib.import_module(f"penstock.{package}")
        found.update({name: getattr(module, name) for name in names})
    s_env = found["StreamExecutionEnvironment"].get_execution_environment()
    return {**found, "s_env": s_env, "st_env": found["StreamTableEnvironment"].create(s_env)}


def run_shell(settings: Sequence[str] = (), ipython: bool | None = None) -> None:
    """Talks until the user leaves.

    Args:
        settings: `key=value` pairs that the environments start from.
        ipython: Whether to use IPython; None uses it where it is installed.

    Raises:
        ValidationError: A setting is not of the form key=value.
    """
    from penstock.cli.run import prepare

    prepare(settings)
    names = shell_names()
    start = None if ipython is False else ipython_start()
    if start is None:
        if ipython:
            sys.stderr.write("IPython is not installed; this is Python's own prompt\n")
        _python_prompt(names)
    else:
        sys.stderr.write(BANNER + "\n")
        start(argv=["--no-banner"], user_ns=names)


def ipython_start() -> Callable[..., Any] | None:
    """What starts IPython, if it is installed."""
    try:
        found: Callable[..., Any] = importlib.import_module("IPython").start_ipython
    except ImportError:
        return None
    return found


def _python_prompt(names: dict[str, Any]) -> None:
    """Functions that are typed here belong to `__main__`, so that they travel to Python workers as they are."""
    main = vars(sys.modules["__main__"])
    main.update(names)
    _complete(main)
    code.InteractiveConsole(main).interact(BANNER, exitmsg="")


def _complete(names: dict[str, Any]) -> None:
    """Names are completed with the Tab key where the terminal allows it."""
    try:
        import readline
        import rlcompleter
    except ImportError:
        return
    readline.set_completer(rlcompleter.Completer(names).complete)
    readline.parse_and_bind("tab: complete")
