"""Spark's classes, loaded and verified once: an archive of class data in the user's cache folder.

A third of the CPU time until a first result is spent on reading, linking and verifying some ten thousand classes.
HotSpot can map them from a file instead. The file is made by a process of its own, at the lowest priority, after the
first program at a terminal that had none has ended; it starts a session, runs a little of everything and lets the JVM
write what was loaded. Programs without a terminal (services, containers, CI) use an archive and make none: a
minute of work would often be for nothing there, and nobody expects a process that goes on.

It can do no harm: its name stands for the Java and the jars that it was made of, the JVM checks both again and
ignores a file that does not fit, it appears under its name only when it is whole, and of several makers one works.
Where the cache folder cannot be written there is none. `PENSTOCK_CLASS_ARCHIVE` = `on` makes one without a terminal
too, `off` turns all this off.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from penstock.common.cache_dir import cache_dir, keep_newest

__all__ = ["archive_options", "main"]

_SWITCH = "PENSTOCK_CLASS_ARCHIVE"
_TARGET = "PENSTOCK_CLASS_ARCHIVE_TARGET"  # set in the process that makes it: where the JVM is to write
_SILENCE = ("-Xlog:cds*=off", "-Xlog:class+path*=off")  # a file that does not fit is no news
_OWN = (
    "-Xshare",
    "-XX:SharedArchiveFile",
    "-XX:ArchiveClassesAtExit",
    "-XX:AOT",
    "-XX:+AutoCreateSharedArchive",
)
_KEPT = 2
_WAIT_SECONDS = 600


def archive_options(command: Sequence[str], java: str) -> list[str]:
    """Options of the JVM that make it use the archive, if there is one; if not, one may be made after this program.

    Args:
        command: The command line that starts Spark's JVM.
        java: Java's folder.
    """
    target = os.environ.get(_TARGET)
    if target:
        return [f"-XX:ArchiveClassesAtExit={target}", *_SILENCE]
    folder = cache_dir()
    if folder is None or not _is_wanted(command):
        return []
    archive = folder / archive_name(command, java)
    if not archive.exists():
        if _switch() == "on" or sys.stderr.isatty():
            atexit.register(_make_later, archive)
        return []
    with contextlib.suppress(OSError):
        os.utime(archive)  # files that are in use are not the ones to remove
    return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", *_SILENCE]


def archive_name(command: Sequence[str], java: str) -> str:
    """A file name that stands for this Java and the jars on the class path."""
    release = pathlib.Path(java) / "release"
    facts: list[object] = [java, release.read_text() if release.exists() else _stamp(_binary(java))]
    for entry in _class_path(command):
        paths = (
            sorted(pathlib.Path(entry[:-1]).glob("*.jar")) if entry.endswith("*") else [pathlib.Path(entry)]
        )
        facts.append([(str(path), _stamp(path)) for path in paths])
    return f"spark-{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]}.jsa"


def _is_wanted(command: Sequence[str]) -> bool:
    """Not if the user has options of this kind, nor with folders of classes, which no archive may cover."""
    words = [*command, *os.environ.get("JDK_JAVA_OPTIONS", "").split()]
    words += os.environ.get("JAVA_TOOL_OPTIONS", "").split()
    has_folders = any(os.path.isdir(entry) and os.listdir(entry) for entry in _class_path(command))
    return _switch() != "off" and not has_folders and not any(word.startswith(_OWN) for word in words)


def _switch() -> str:
    return {"false": "off", "0": "off", "true": "on", "1": "on"}.get(
        word := os.environ.get(_SWITCH, "").lower(), word
    )


def _class_path(command: Sequence[str]) -> list[str]:
    places = [i for i, word in enumerate(command[:-1]) if word in ("-cp", "-classpath")]
    return [entry for entry in command[places[0] + 1].split(os.pathsep) if entry] if places else []


def _binary(java: str) -> pathlib.Path:
    return pathlib.Path(java) / "bin" / "java"


def _stamp(path: pathlib.Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


# --- making it ------------------------------------------------------------------------------------------


def _make_later(archive: pathlib.Path) -> None:
    """Starts the process that makes the archive, and does not wait for it."""
    if archive.exists() or not sys.executable:
        return
    with contextlib.suppress(OSError):
        subprocess.Popen(
            [sys.executable, "-m", "penstock.runtime.spark.class_archive", str(archive)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=archive.parent,
            start_new_session=True,
        )


def main(archive: pathlib.Path) -> None:
    """Makes the archive, unless another process is at it or has done it."""
    with open(archive.with_suffix(".lock"), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        if not archive.exists():
            os.nice(19)
            _make(archive)
            keep_newest(archive.parent, "spark-*.jsa", _KEPT)


def _make(archive: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix="making-") as folder:
        written = pathlib.Path(folder) / archive.name
        os.environ[_TARGET] = str(written)
        os.environ.pop("PENSTOCK_MASTER", None)
        if _run_a_little_of_everything() == 0 and written.exists():
            os.replace(written, archive)


def _run_a_little_of_everything() -> int | None:
    """Loads the classes that programs need; returns the exit code of the JVM, which writes them on its way out."""
    import pyarrow as pa

    from penstock.runtime.spark.session import get_spark

    spark = get_spark({"spark.driver.memory": "1g", "spark.master": "local[1]"})
    numbers = pa.table({"k": ["a", "b", "a"], "v": [1, 2, 3]})
    spark.createDataFrame(numbers).createOrReplaceTempView("numbers")
    spark.sql(
        "SELECT l.k, count(*) n, sum(l.v) s FROM numbers l JOIN numbers r ON l.k = r.k WHERE l.v > 0 "
        "GROUP BY l.k HAVING count(*) > 0 ORDER BY s DESC LIMIT 3"
    ).collect()
    spark.sql("SELECT upper(k), row_number() OVER (PARTITION BY k ORDER BY v) FROM numbers").toArrow()
    spark.table("numbers").mapInArrow(lambda batches: batches, "k string, v bigint").collect()
    spark.sparkContext.parallelize([(1, b"a"), (2, b"b")], 2).partitionBy(2).mapPartitions(iter).collect()
    process = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
    spark.stop()
    if process is None or process.stdin is None:
        return None
    process.stdin.close()
    return int(process.wait(_WAIT_SECONDS))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
