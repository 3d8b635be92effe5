"""Flink's own command line, from PyPI's package of its Java parts, in a folder that tests share.

The package is installed once per machine and version, without what it depends on: only its jars and scripts are used.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from penstock.runtime.spark.java import prepare_java

VERSION = "2.3.0"
_CACHE = pathlib.Path(os.environ.get("PENSTOCK_TEST_CACHE", "~/.cache/penstock-tests")).expanduser()


class FlinkClient:
    """Runs `flink <words>` and returns what it prints."""

    def __init__(self) -> None:
        self.home = _installed()
        self._java = prepare_java()

    def run(self, *words: str, code: int = 0) -> str:
        environment = {
            **os.environ, "JAVA_HOME": self._java, "FLINK_HOME": str(self.home), "_FLINK_HOME_DETERMINED": "1",
            "FLINK_CONF_DIR": str(self.home / "conf"), "FLINK_BIN_DIR": str(self.home / "bin"),
            "FLINK_LIB_DIR": str(self.home / "lib"), "FLINK_LOG_DIR": str(_CACHE / "flink-logs"),
        }  # fmt: skip
        done = subprocess.run(
            ["bash", str(self.home / "bin" / "flink"), *words],
            capture_output=True, text=True, env=environment, timeout=300,
        )  # fmt: skip
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr


def _installed() -> pathlib.Path:
    folder = _CACHE / f"flink-{VERSION}"
    home = folder / "pyflink"
    if not (home / "bin" / "flink").exists():
        _CACHE.mkdir(parents=True, exist_ok=True)
        draft = folder.with_name(f"{folder.name}-{os.getpid()}")
        packages = [f"apache-flink-libraries=={VERSION}", f"apache-flink=={VERSION}"]
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(draft), *packages],
            capture_output=True, text=True, timeout=900,
        )  # fmt: skip
        if done.returncode != 0:
            shutil.rmtree(draft, ignore_errors=True)
            message = f"Flink's client cannot be installed: {done.stderr.strip()[-300:]}"
            if os.environ.get("CI") == "true":
                pytest.fail(message)
            pytest.skip(message)
        if not folder.exists():
            draft.rename(folder)
    return home
