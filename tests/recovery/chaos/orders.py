"""How the processes of a job on Spark get their orders: files, named for a point; whoever renames one has it.

<folder>/METADATA_NEXT      {"kind": "driver killed"}      the first process that reaches the point takes it
<folder>/storage            {"kind": "disk full", "until": …}     holds for all, until a moment
"""

from __future__ import annotations

import json
import os
import pathlib
import time
import uuid

from chaos.faults import ACTIONS, FILE_POINTS
from penstock.common import points
from penstock.common.points import Point


def give(folder: pathlib.Path, kind: str, point: Point) -> None:
    """Orders a fault at a point."""
    _write(folder, point.name, {"kind": kind})


def give_storage(folder: pathlib.Path, kind: str, seconds: float) -> None:
    """From now on, for a while, storage does so."""
    _write(folder, "storage", {"kind": kind, "until": time.monotonic() + seconds})


def taken(folder: pathlib.Path, point: Point) -> bool:
    return not (folder / point.name).exists()


def withdraw(folder: pathlib.Path, point: Point) -> None:
    (folder / point.name).unlink(missing_ok=True)


def _write(folder: pathlib.Path, name: str, order: dict[str, object]) -> None:
    folder.mkdir(exist_ok=True)
    aside = folder / f".{uuid.uuid4().hex}"
    aside.write_text(json.dumps(order))
    aside.rename(folder / name)


def obey(folder: str) -> None:
    """This process looks for orders at each point that it reaches."""

    def listener(point: Point) -> None:
        mine = os.path.join(folder, f".taken-{uuid.uuid4().hex}")
        try:
            os.rename(os.path.join(folder, point.name), mine)
        except OSError:
            if point in FILE_POINTS:
                _storage(folder)
            return
        with open(mine) as order:
            ACTIONS[json.load(order)["kind"]]()

    points.listen(listener)


def _storage(folder: str) -> None:
    try:
        with open(os.path.join(folder, "storage")) as file:
            order = json.load(file)
    except (OSError, ValueError):
        return
    if time.monotonic() < order["until"]:
        ACTIONS[order["kind"]]()
