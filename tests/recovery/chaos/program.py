"""A tormented job as a program of its own: program.py JOB FOLDER NUMBERS RECORDS [key=value …]."""

from __future__ import annotations

import pathlib
import sys

from chaos import jobs


def main() -> None:
    job, folder, numbers, records = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    more = dict(argument.split("=", 1) for argument in sys.argv[5:])
    jobs.RUN[job](folder, numbers, {**jobs.settings(folder, records), **more})


if __name__ == "__main__":
    main()
