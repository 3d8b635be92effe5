"""What reaches the terminal from a starting and stopping JVM."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import subprocess, sys, time
from penstock.runtime.spark.quiet import filtered_stderr
with filtered_stderr():
    child = subprocess.Popen([sys.executable, "-c", {child!r}])
child.wait()
time.sleep(0.2)
"""


def seen_of(child: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(child=child)], capture_output=True, text=True, timeout=60
    )
    return done.stderr


def test_known_noise_is_kept_back_and_everything_else_passes() -> None:
    child = (
        "import sys; print('WARNING: Using incubator modules: x', file=sys.stderr);"
        "print('a print of the user', file=sys.stderr)"
    )
    assert seen_of(child) == "a print of the user\n"


def test_a_traceback_of_the_users_code_passes_whole() -> None:
    child = "def broken():\n    raise ValueError('mine')\nbroken()"
    seen = seen_of(child)
    assert seen.startswith("Traceback") and seen.rstrip().endswith("ValueError: mine")


def test_the_daemon_that_notices_the_end_of_spark_is_not_heard() -> None:
    lines = [
        "Traceback (most recent call last):",
        '  File "/x/pyspark.zip/pyspark/daemon.py", line 1, in manager',
        "BrokenPipeError: [Errno 32] Broken pipe",
    ]
    child = "import sys; sys.stderr.write(" + repr("\n".join(lines) + "\n") + ")"
    assert seen_of(child) == ""
