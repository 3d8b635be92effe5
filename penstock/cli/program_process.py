"""The process of a program in a session: joins the session's Spark, runs the program, says goodbye.

`python -m penstock.cli.program_process program.py arguments`; the session puts the rest into environment variables.
"""

from __future__ import annotations

import json
import os
import sys

from penstock.cli.run import run_program
from penstock.common.errors import PenstockError
from penstock.rest.session.agent import Agent

EXIT_ABANDONED = 75


def main() -> int:
    """Runs the program; the exit code is the program's own."""
    program, *arguments = sys.argv[1:]
    settings = [f"{k}={v}" for k, v in json.loads(os.environ.pop("PENSTOCK_PROGRAM_SETTINGS", "{}")).items()]
    path, number = os.environ.pop("PENSTOCK_SESSION_SOCKET"), os.environ.pop("PENSTOCK_SESSION_PROGRAM")
    # Without its session a program has no Spark. It must not end its jobs in an orderly way: they go on elsewhere.
    agent = Agent(path, number, lambda: os._exit(EXIT_ABANDONED))
    try:
        if "gateway" in agent.settings:
            from penstock.runtime.spark.attach import attach

            attach(agent.settings["gateway"]["port"], agent.settings["gateway"]["secret"])
        run_program(program, arguments, settings, start_early=False)
        return 0
    except PenstockError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    finally:
        sys.stdout.flush()
        agent.close()


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # threads of the program, and py4j's, have nothing left to say
