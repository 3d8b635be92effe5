"""Flink's own programs, as its packages bring them: `flink`, `sql-client.sh` and what they need.

    apache-flink                 the Python package and its libraries: scripts, configuration and jars
    flink-sql-gateway            a jar of Maven Central that the Python package leaves out, and the SQL client needs

Where real PyFlink is installed (`$FLINK_ORACLE` or `~/.cache/flink-oracle`) its files are taken, else packages are
fetched without what they depend on. The folder that the scripts run in is put together of links, below
`~/.cache/penstock`. Where that cannot be done tests are skipped and say why; with CI=true it fails them.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence

import pytest

from penstock.runtime.spark.java import prepare_java
from tests.servers.packages import cache_folder
from tests.servers.process import find_program, is_ci

VERSION = "2.3.0"
_FETCH_S = 900


class FlinkClient:
    """Runs `flink <words>` and returns what it prints."""

    def __init__(self, logs: pathlib.Path) -> None:
        self._logs = logs
        self._home = flink_home()
        self._java = prepare_java()

    def run(self, *words: str, code: int = 0) -> str:
        home = self._home
        environment = {
            **os.environ, "JAVA_HOME": self._java, "FLINK_HOME": str(home), "_FLINK_HOME_DETERMINED": "1",
            "FLINK_CONF_DIR": str(home / "conf"), "FLINK_BIN_DIR": str(home / "bin"),
            "FLINK_LIB_DIR": str(home / "lib"), "FLINK_LOG_DIR": str(self._logs),
        }  # fmt: skip
        call = ["bash", str(home / "bin" / "flink"), *words]
        done = subprocess.run(call, capture_output=True, text=True, env=environment, timeout=300)
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr


def sql_client_home() -> pathlib.Path:
    """The same folder with what `sql-client.sh` needs beyond the Python package."""
    home = flink_home()
    if not list((home / "opt").glob("flink-sql-gateway-*.jar")):
        maven = find_program("mvn", "maven")
        artifact = f"-Dartifact=org.apache.flink:flink-sql-gateway:{VERSION}"
        copy = ["dependency:copy", artifact, f"-DoutputDirectory={home / 'opt'}"]
        _run([maven, "-q", "-B", *copy], "the jar of Flink's SQL gateway")
    return home


def flink_home() -> pathlib.Path:
    """A folder with `bin`, `conf`, `lib` and `opt`, as an installation of Flink has them."""
    home = cache_folder() / f"flink-{VERSION}"
    if not home.is_dir():
        package = _package()
        home.parent.mkdir(parents=True, exist_ok=True)
        aside = pathlib.Path(tempfile.mkdtemp(prefix="flink-", dir=home.parent))
        try:
            _put_together(package, aside / "home")
            with contextlib.suppress(OSError):  # another test run was faster
                (aside / "home").rename(home)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return home


def install(environment: pathlib.Path, *packages: str, with_python: str = sys.executable) -> pathlib.Path:
    """Packages in an environment of their own, because of what they pin; its Python."""
    python = environment / "bin" / "python"
    if not (environment / ".installed").exists():
        _run([with_python, "-m", "venv", "--clear", str(environment)], "an environment")
        _run([str(python), "-m", "pip", "install", "-q", *packages], " ".join(packages))
        (environment / ".installed").touch()
    return python


def find_python(*versions: str) -> str:
    """A Python of one of these versions; tests are skipped where there is none, on CI that is a failure."""
    for version in versions:
        pyenv = sorted(pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
        for found in (*map(str, reversed(pyenv)), shutil.which(f"python{version}")):
            if found is not None and _answers(
                found
            ):  # pyenv's shims are there for versions that are not chosen, too
                return found
    fetched = cache_folder() / "uv"
    uv = install(fetched, "uv").parent / "uv"
    _run([str(uv), "python", "install", "-q", versions[0]], f"Python {versions[0]}")
    done = subprocess.run([str(uv), "python", "find", versions[0]], capture_output=True, text=True)
    return done.stdout.strip()


def _answers(python: str) -> bool:
    return subprocess.run([python, "-c", "import venv"], capture_output=True).returncode == 0


def _package() -> pathlib.Path:
    """The folder of the package pyflink."""
    oracle = os.environ.get("FLINK_ORACLE")
    environment = pathlib.Path(oracle) if oracle else pathlib.Path.home() / ".cache" / "flink-oracle"
    installed = sorted(environment.glob("lib/python3*/site-packages/pyflink"))
    if installed:
        return installed[0]
    fetched = cache_folder() / f"apache-flink-{VERSION}"
    if not (fetched / "pyflink" / "bin" / "flink").exists():
        packages = [f"apache-flink-libraries=={VERSION}", f"apache-flink=={VERSION}"]
        _run(
            [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(fetched), *packages],
            "Flink",
        )
    return fetched / "pyflink"


def _put_together(package: pathlib.Path, home: pathlib.Path) -> None:
    for name in ("bin", "conf"):
        shutil.copytree(package / name, home / name)
    for name in ("lib", "opt"):
        (home / name).mkdir()
        for jar in (package / name).glob("*.jar"):
            (home / name / jar.name).symlink_to(jar)
    (home / "log").mkdir()


def _run(command: Sequence[str], what: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_FETCH_S)
        said = "" if done.returncode == 0 else (done.stdout + done.stderr)[-1000:]
    except (subprocess.TimeoutExpired, OSError) as error:
        said = str(error)
    if said:
        assert not is_ci(), f"cannot get {what}: {said}"
        pytest.skip(f"cannot get {what}: {said}")
