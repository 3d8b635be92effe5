"""What a program brings along, by its configuration: `python.files`, `.archives`, `.requirements`, `.executable`.

`collect_dependencies` reads the options and tells what functions are to be surrounded with from now on
(`common/surroundings.py`). Requirements are installed by the driver, once, into a folder of their own; packages that
are there already are not installed again. `bring_along` is Spark's part: on a cluster files go to the executors.
"""

from __future__ import annotations

import atexit
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING

from penstock.common.errors import MissingDependencyError, ValidationError
from penstock.common.surroundings import Surroundings, here, surround
from penstock.runtime.spark.delivery import deliver

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["bring_along", "collect_dependencies"]

_INSTALLED: dict[tuple[str, float, str], str | None] = {}
"""Where the packages of a requirements file were put, by its path, age and folder of downloads."""


def collect_dependencies(config: Mapping[str, str]) -> None:
    """Functions that are pickled from now on find what `config` names.

    Raises:
        ValidationError: A file is not there.
        MissingDependencyError: A package cannot be installed.
    """
    executable = config.get("python.executable") or None
    surround(
        Surroundings(
            files=tuple(_local(path) for path in _listed(config, "python.files")),
            archives=tuple(_archive(entry) for entry in _listed(config, "python.archives")),
            packages=_packages(config.get("python.requirements") or "", executable),
            executable=executable,
        )
    )


def bring_along(context: SparkContext, config: Mapping[str, str]) -> None:
    """Sends what was collected to the machines of a cluster, and chooses the Python of the workers."""
    executable = config.get("python.executable")
    if executable:
        context.pythonExec = executable
    if context.master.startswith("local["):
        return
    deliver(context)
    found = here()
    for path in (*found.files, *(path for path, _ in found.archives)):
        context.addFile(path, recursive=os.path.isdir(path))
    if found.packages is not None:
        context.addFile(found.packages)


def _listed(config: Mapping[str, str], key: str) -> list[str]:
    """Entries between commas; several options of `-pyfs a,b` and of repeated calls look the same."""
    return [entry.strip() for entry in (config.get(key) or "").split(",") if entry.strip()]


def _local(path: str) -> str:
    text = path.removeprefix("file://")
    if not os.path.exists(text):
        raise ValidationError(
            f"there is no file {path}", do="python.files, python.archives: pass existing paths"
        )
    return os.path.abspath(text)


def _archive(entry: str) -> tuple[str, str]:
    """
    >>> import tempfile; file = tempfile.NamedTemporaryFile(suffix=".zip")
    >>> _archive(file.name + "#data") == (file.name, "data"), _archive(file.name)[1] == os.path.basename(file.name)
    (True, True)
    """
    path, _, target = entry.partition("#")
    return _local(path), target or os.path.basename(path)


def _packages(entry: str, executable: str | None) -> str | None:
    """The zip of the packages that a requirements file names; None if all are here already."""
    path, _, cache = entry.partition("#")
    if not path:
        return None
    path = _local(path)
    key = (path, os.path.getmtime(path), cache)
    if key not in _INSTALLED:
        wanted = _wanted(path)
        needed = any(not line.startswith("-") for line in wanted)
        _INSTALLED[key] = _install(path, wanted, cache, executable or sys.executable) if needed else None
    return _INSTALLED[key]


def _wanted(path: str) -> list[str]:
    """The lines of a requirements file, without packages that are here already; options for pip stay."""
    with open(path, encoding="utf-8") as file:
        lines = [re.sub(r"(^|\s)#.*", "", line).strip() for line in file]
    return [line for line in lines if line and not _is_installed(line)]


def _is_installed(requirement: str) -> bool:
    """Whether a package is here in the wanted version; what is not a plain `name==version` is left to pip."""
    match = re.fullmatch(r"([A-Za-z0-9][\w.-]*)\s*(?:==\s*([\w.]+))?", requirement)
    if match is None:
        return False
    try:
        version = importlib.metadata.version(match[1])
    except importlib.metadata.PackageNotFoundError:
        return False
    return match[2] is None or match[2] == version


def _install(path: str, wanted: list[str], cache: str, executable: str) -> str:
    folder = tempfile.mkdtemp(prefix="penstock-requirements-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    offline = ["--no-index", "--find-links", _local(cache)] if cache else []
    site, file = os.path.join(folder, "site"), os.path.join(folder, "requirements.txt")
    with open(file, "w", encoding="utf-8") as lines:
        lines.write("\n".join(wanted))
    command = [executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", site]
    done = subprocess.run(
        [*command, *offline, "-r", file], capture_output=True, text=True, cwd=os.path.dirname(path)
    )
    if done.returncode != 0:
        raise MissingDependencyError(
            f"the requirements of the program cannot be installed: {done.stderr.strip()[-1000:]}",
            where=path,
            do="correct the file, or give a folder of downloaded packages with it",
        )
    return shutil.make_archive(os.path.join(folder, os.path.basename(folder)), "zip", site)
