"""What a program's functions find around them in a worker: modules, archives, packages, the name `pyflink`.

The driver collects it (`runtime/dependencies.py`) and sends it along with every pickled function (`pickling.ship`)
and every job. A worker enters it before it unpickles, because unpickling imports. On one machine things are where the
driver has them; on a cluster Spark has brought files along under their names.

    <folder>/files/       single Python files, on sys.path
    <folder>/archives/    unpacked archives: the working directory of functions while the job has any
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.common.errors import ValidationError
from penstock.common.pyflink_alias import has_pyflink_alias, install_pyflink_alias

__all__ = ["Surroundings", "here", "surround"]

_HOME = os.getcwd()
"""Where this process stood before any archive."""


@dataclass(frozen=True)
class Surroundings:
    """Plain data, made by the driver.

    Attributes:
        paths: The driver's own sys.path, behind everything else.
        alias: Whether `pyflink` stands for penstock.
        files: Python files, package folders and zips of the program.
        archives: Archives and the folders they are unpacked into.
        packages: A folder, or a zip of one, with installed requirements.
        driver: The process that must keep its working directory: it is the user's.
    """

    paths: tuple[str, ...] = ()
    alias: bool = False
    files: tuple[str, ...] = ()
    archives: tuple[tuple[str, str], ...] = ()
    packages: str | None = None
    executable: str | None = None
    driver: int = field(default_factory=os.getpid)

    def enter(self) -> None:
        """Makes it so in this process; entering twice changes nothing."""
        global _entered
        if self is _entered:
            return
        if self == _entered:
            _entered = self
            return
        self.add()
        if os.getpid() != self.driver:
            self._stand_at_archives()
        _entered = self

    def add(self) -> None:
        """What a single function needs, beside what its job has entered."""
        if self.alias:
            install_pyflink_alias()
        if self.executable is not None:
            os.environ["python"] = self.executable  # noqa: SIM112  (so PyFlink calls it)
        if self.files or self.packages:
            _first(
                [
                    *map(self._importable, reversed(self.files)),  # of two of a name, the later one counts
                    *([self._folder_of(self.packages)] if self.packages else []),
                ]
            )
        _last(self.paths)

    def _stand_at_archives(self) -> None:
        if not self.archives:
            if _entered is not None and _entered.archives:
                os.chdir(_HOME)
            return
        root = self._private("archives")
        for path, target in self.archives:
            _unpack(_found(path), os.path.join(root, target))
        os.chdir(root)

    def _importable(self, path: str) -> str:
        """What has to be on sys.path so that `path` can be imported."""
        found = _found(path)
        if not found.endswith((".py", ".pyc")):
            return found
        folder = self._private("files")
        _publish(os.path.join(folder, os.path.basename(path)), lambda made: shutil.copyfile(found, made))
        return folder

    def _folder_of(self, packages: str) -> str:
        found = _found(packages)
        if os.path.isdir(found):
            return found
        folder = os.path.join(self._private("packages"), "site")
        _unpack(found, folder)
        return folder

    def _private(self, name: str) -> str:
        """A folder of this machine for this set of files; processes of one job share it."""
        what = repr((self.files, self.archives, self.packages, self.driver, [_stamp(p) for p in self.files]))
        key = hashlib.sha256(what.encode()).hexdigest()[:16]
        folder = os.path.join(_scratch(), f"penstock-{key}", name)
        os.makedirs(folder, exist_ok=True)
        return folder


_entered: Surroundings | None = None
_current = Surroundings()


def surround(files: Surroundings) -> None:
    """The driver's: what is shipped from now on."""
    global _current
    _current = files


def here() -> Surroundings:
    """What is to be shipped: the program's files, and this process's paths as they are now."""
    return Surroundings(
        tuple(path for path in sys.path if path),
        has_pyflink_alias(),
        _current.files,
        _current.archives,
        _current.packages,
        _current.executable,
    )


_own_scratch: str | None = None


def _scratch() -> str:
    """A folder that goes away with the application: Spark's, or one of this process where there is no Spark."""
    global _own_scratch
    files = _spark_files()
    if files is not None:
        return str(files.getRootDirectory())
    if _own_scratch is None:
        _own_scratch = tempfile.mkdtemp(prefix="penstock-files-")
        atexit.register(shutil.rmtree, _own_scratch, ignore_errors=True)
    return _own_scratch


def _spark_files() -> Any | None:
    """Spark's list of files in a Spark worker; it is not imported for this, because a worker has it already."""
    files = getattr(sys.modules.get("pyspark"), "SparkFiles", None)
    return files if files is not None and files._is_running_on_worker else None


def _stamp(path: str) -> float:
    return os.path.getmtime(path) if os.path.exists(path) else 0.0


def _found(path: str) -> str:
    """The file itself, or the copy that Spark brought to this machine."""
    if os.path.exists(path):
        return path
    files = _spark_files()
    if files is None:
        raise ValidationError(f"there is no file {path}")
    return str(files.get(os.path.basename(path)))


def _first(paths: list[str]) -> None:
    sys.path[:0] = [path for path in dict.fromkeys(paths) if path not in sys.path]


def _last(paths: tuple[str, ...]) -> None:
    known = set(sys.path)
    sys.path.extend(path for path in paths if path not in known)


def _publish(target: str, make: Callable[[str], object]) -> None:
    """Makes a file or folder beside its place and renames it: several processes may do so at a time."""
    if os.path.exists(target):
        return
    aside = f"{target}.{os.getpid()}"
    make(aside)
    try:
        os.rename(aside, target)
    except OSError:  # somebody else was first
        shutil.rmtree(aside, ignore_errors=True)


def _unpack(archive: str, target: str) -> None:
    """Unpacks an archive by its contents: zip (jar, whl), tar, tar.gz; a folder is copied."""

    def make(folder: str) -> None:
        os.makedirs(folder)
        if os.path.isdir(archive):
            shutil.copytree(archive, folder, dirs_exist_ok=True)
        elif zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as packed:
                packed.extractall(folder)
                _restore_modes(packed, folder)
        elif tarfile.is_tarfile(archive):
            with tarfile.open(archive) as packed_tar:
                packed_tar.extractall(folder, filter="tar")
        else:
            raise ValidationError(f"{archive} is no archive", do="pass a zip, tar or tar.gz file")

    _publish(target, make)


def _restore_modes(packed: zipfile.ZipFile, folder: str) -> None:
    """What zipfile leaves out: a Python in an archive has to stay executable."""
    for member in packed.infolist():
        mode = member.external_attr >> 16
        if mode and not member.is_dir():
            os.chmod(os.path.join(folder, member.filename), mode & 0o777)
