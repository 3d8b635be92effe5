"""The plan of a program's first job, as JSON on the last line; the program ends where the job would start.

`python -m penstock.cli.program_plan program.py arguments`, as the REST server calls it for an uploaded program.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from penstock.cli.run import run_program
from penstock.common.errors import PenstockError

_WITH_EFFECTS = ("execution.state-recovery.path", "execution.checkpointing.dir", "state.checkpoints.dir")
"""A plan claims no savepoint and goes on from no checkpoint."""


class _PlanMadeError(BaseException):
    """The job would start now; nothing of the program may catch this."""

    def __init__(self, plan: dict[str, Any]) -> None:
        super().__init__()
        self.plan = plan


def main() -> int:
    program, *arguments = sys.argv[1:]
    settings = [f"{k}={v}" for k, v in json.loads(os.environ.pop("PENSTOCK_PROGRAM_SETTINGS", "{}")).items()]
    _plan_instead()
    try:
        run_program(program, arguments, settings, start_early=False)
    except _PlanMadeError as made:
        sys.stdout.write("\n" + json.dumps(made.plan) + "\n")
        return 0
    except PenstockError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return 1
    sys.stderr.write("the program has no job\n")
    return 1


def _plan_instead() -> None:
    """From now on a job that is submitted is only planned."""
    from penstock.rest.views.jobs import plan
    from penstock.runtime import submit
    from penstock.runtime.plan import JobDefinition
    from penstock.runtime.statistics import JobStatistics

    start = submit.submit_job

    def planned(definition: JobDefinition) -> Any:
        raise _PlanMadeError(plan(JobStatistics(definition)))

    def submitted(sinks: Any, configuration: Any, job_name: str, *_: Any) -> Any:
        for key in _WITH_EFFECTS:
            configuration.remove_config(key)
        return start(sinks, configuration, job_name, planned)

    setattr(submit, "submit_job", submitted)  # noqa: B010


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
