"""The command line of Spark's JVM, remembered.

PySpark starts a shell script, which starts a JVM, whose only task is to print the command line of the JVM that is
wanted. What it prints depends on the arguments, a few environment variables and Spark's configuration files; as long
as these stay what they were, so does the command, and the first JVM need not be asked again.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import pathlib
import subprocess
from collections.abc import Mapping, Sequence

from penstock.common.cache_dir import cache_dir, keep_newest, write_whole

__all__ = ["spark_command", "spark_environment", "spark_home"]

_MAIN = "org.apache.spark.launcher.Main"
_SUBMIT = "org.apache.spark.deploy.SparkSubmit"
_CONFIGURATION = ("spark-defaults.conf", "java-opts")
_VARIABLES = ("SPARK_", "PYSPARK_", "HADOOP_", "YARN_", "JAVA_", "_JAVA_", "JDK_")
_KEPT = 20


def spark_home() -> str | None:
    """Spark's folder: SPARK_HOME, or the one inside PySpark, which is not imported for it."""
    if "SPARK_HOME" in os.environ:
        return os.environ["SPARK_HOME"]
    spec = importlib.util.find_spec("pyspark")
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return next((place for place in places if os.path.isdir(os.path.join(place, "jars"))), None)


def spark_environment(home: str) -> dict[str, str]:
    """This process's variables, and those that Spark's shell scripts would add."""
    added = {
        "SPARK_HOME": home,
        "SPARK_ENV_LOADED": "1",
        "SPARK_SCALA_VERSION": "2.13",
        "PYTHONHASHSEED": "0",
    }
    configuration = os.environ.get("SPARK_CONF_DIR", os.path.join(home, "conf"))
    return {**os.environ, **added, "SPARK_CONF_DIR": configuration, "SPARK_CONNECT_MODE": "0"}


def spark_command(home: str, java: str, settings: Mapping[str, str]) -> list[str] | None:
    """What starts a gateway with these settings; None where only Spark's own scripts know.

    Args:
        home: Spark's folder.
        java: Java's folder.
        settings: `spark.*` of the session to come.
    """
    environment = spark_environment(home)
    configuration = pathlib.Path(environment["SPARK_CONF_DIR"])
    is_plain = not {"SPARK_TESTING", "SPARK_PREPEND_CLASSES", "SPARK_LAUNCHER_OPTS"} & environment.keys()
    if not is_plain or os.name != "posix" or (configuration / "spark-env.sh").exists():
        return None
    arguments = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    folder = cache_dir()
    name = _name(home, java, arguments, environment)
    remembered = _read(folder / name) if folder is not None else None
    if remembered is not None:
        return remembered
    asked = _ask(home, java, [*arguments, "pyspark-shell"], environment)
    if asked is not None and folder is not None:
        write_whole(folder / name, json.dumps(asked))
        keep_newest(folder, "launch-*.json", _KEPT)
    return asked


def _name(home: str, java: str, arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """A file name that stands for everything the command depends on."""
    places = [os.path.join(environment["SPARK_CONF_DIR"], name) for name in _CONFIGURATION]
    places += [os.path.join(home, "jars"), os.path.join(java, "bin", "java")]
    variables = {k: v for k, v in sorted(environment.items()) if k.startswith(_VARIABLES)}
    facts = [home, java, list(arguments), variables, [_stamp(place) for place in places]]
    return f"launch-{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]}.json"


def _stamp(place: str) -> tuple[int, int] | None:
    try:
        found = os.stat(place)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _read(path: pathlib.Path) -> list[str] | None:
    try:
        command = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    is_command = isinstance(command, list) and command and all(isinstance(word, str) for word in command)
    return command if is_command else None


def _ask(home: str, java: str, arguments: Sequence[str], environment: Mapping[str, str]) -> list[str] | None:
    """What Spark's launcher prints: a NUL, a line break, then the words, each followed by a NUL."""
    runner = [os.path.join(java, "bin", "java"), "-Xmx128m", "-Xshare:auto", "-XX:TieredStopAtLevel=1"]
    jars = os.path.join(home, "jars", "*")
    asking = [*runner, "-cp", jars, _MAIN, _SUBMIT, *arguments]
    try:
        done = subprocess.run(asking, env=dict(environment), capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.SubprocessError):
        return None
    _, separator, words = done.stdout.partition("\0\n")
    command = words.split("\0")[:-1]
    return command if done.returncode == 0 and separator and command else None
