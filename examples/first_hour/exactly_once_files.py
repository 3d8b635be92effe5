"""Writes numbers to files, is killed in the middle, is started again, and has written every number once.

Without arguments this program starts itself as a job, kills it with SIGKILL when the first files are there, and
starts it again. The second run finds the checkpoints of the first under the same directory and goes on where it
stopped. Files become visible when the epoch that wrote them is committed; what a killed run left is never seen.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from penstock.common import Configuration, Encoder, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink, RollingPolicy

NUMBERS = 5_000


def job(folder: str) -> None:
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", f"{folder}/checkpoints")
    configuration.set_string("execution.runtime-mode", "STREAMING")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)

    def slowly(number: int) -> str:
        time.sleep(0.002)
        return str(number)

    # A file for each checkpoint. By default a file is finished after a minute, or when it is large.
    files = FileSink.for_row_format(f"{folder}/numbers", Encoder.simple_string_encoder())
    files.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    env.from_sequence(1, NUMBERS).map(slowly, Types.STRING()).sink_to(files.build())
    env.execute("numbers to files")


def written(folder: str) -> list[int]:
    """The numbers in files that everybody may read; those of an unfinished epoch begin with a dot."""
    files = [
        p for p in pathlib.Path(folder, "numbers").rglob("*") if p.is_file() and not p.name.startswith(".")
    ]
    return [int(line) for path in files for line in path.read_text().splitlines()]


def start(folder: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, __file__, folder], start_new_session=True)


def main() -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        first = start(folder)
        while not written(folder) and first.poll() is None:
            time.sleep(0.05)
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
        print("killed in the middle:", 0 < len(written(folder)) < NUMBERS)
        start(folder).wait()
        print("each number once:", sorted(written(folder)) == list(range(1, NUMBERS + 1)))


if __name__ == "__main__":
    job(sys.argv[1]) if len(sys.argv) > 1 else main()
