"""Programs of Debian's packages that are not installed: fetched and unpacked below `~/.cache/penstock`, without root.

    apt-cache depends        which packages a server needs that this machine does not have
    apt-get download         fetches them
    dpkg -x                  unpacks them into one folder; nothing of the machine changes

Where that cannot be done tests are skipped and say why; with CI=true it fails them.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from tests.servers.process import is_ci, packages_locked

_FETCH_S = 300
_FOLDERS = ("usr/bin", "usr/sbin", "bin", "sbin")
_PLAIN = [
    f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
]


class Program(NamedTuple):
    """Where a program is, what it needs in its environment, and the folder that stands for `/`."""

    path: str
    environment: dict[str, str]
    root: pathlib.Path


def find_packaged(name: str, package: str, needs: Sequence[str] = ()) -> Program:
    """A server's program: the machine's own, or one that is unpacked for the tests.

    Args:
        needs: The packages to fetch; without them all that the package depends on and that are not installed.
    """
    installed = shutil.which(name, path=os.environ.get("PATH", "") + os.pathsep + "/usr/sbin")
    if installed:
        return Program(installed, {}, pathlib.Path("/"))
    root = cache_folder() / "debian" / package
    if not root.is_dir():
        with packages_locked():
            _unpack(package, needs, root)
    found = next((root / folder / name for folder in _FOLDERS if (root / folder / name).exists()), None)
    assert found, f"package {package} has no program {name}"
    libraries = {str(path.parent) for path in root.rglob("*.so*")}
    return Program(str(found), {"LD_LIBRARY_PATH": os.pathsep.join(sorted(libraries))}, root)


def cache_folder() -> pathlib.Path:
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "penstock"


def _unpack(package: str, needs: Sequence[str], root: pathlib.Path) -> None:
    if root.is_dir():  # another test run was faster
        return
    root.parent.mkdir(parents=True, exist_ok=True)
    aside = pathlib.Path(tempfile.mkdtemp(prefix=f"{package}-", dir=root.parent))
    try:
        said = _fetched(package, needs, aside)
        if said:
            assert not is_ci(), f"{package} cannot be fetched: {said}"
            pytest.skip(f"there is no {package} here, and it cannot be fetched: {said}")
        (aside / "root").rename(root)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _fetched(package: str, needs: Sequence[str], aside: pathlib.Path) -> str:
    """Fetches and unpacks what is missing; what went wrong, if something did."""
    for tool in ("apt-get", "apt-cache", "dpkg"):
        if shutil.which(tool) is None:
            return f"there is no {tool} here"
    if package not in _missing(package) and is_ci():  # no lists of packages yet
        sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
        _run([*sudo, "apt-get", "update"], aside)
    for name in needs or _missing(package):  # one by one: of alternatives some do not exist
        _run(["apt-get", "download", name], aside)
    archives = sorted(aside.glob("*.deb"))
    if not any(archive.name.startswith(f"{package}_") for archive in archives):
        return f"apt-get download {package} gave nothing"
    for archive in archives:
        _run(["dpkg", "-x", str(archive), str(aside / "root")], aside)
    return ""


def _missing(package: str) -> list[str]:
    """The package, and what it depends on and is not installed."""
    listed = _run(["apt-cache", "depends", "--recurse", *_PLAIN, package])
    names = {line.strip() for line in listed.splitlines() if re.match(r"[a-z0-9]", line)}
    status = _run(["dpkg-query", "-W", "-f", "${Package} ${Status}\\n"])
    installed = {line.split()[0] for line in status.splitlines() if line.endswith("ok installed")}
    return sorted(name.partition(":")[0] for name in names if name.partition(":")[0] not in installed)


def _run(command: list[str], folder: pathlib.Path | None = None) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_FETCH_S)
    return done.stdout
