"""`penstock replay CHECKPOINT_DIR --epoch N`: an epoch once more, here, with what it was given."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from penstock.runtime.replay import OperatorReplay, Replay, Seen

EXIT_FAILED = 1


def replay(
    folder: Annotated[str, typer.Argument(help="A job's folder: <execution.checkpointing.dir>/<job id>.")],
    epoch: Annotated[
        int | None, typer.Option("--epoch", help="Which one; without, the last that failed.")
    ] = None,
    operator: Annotated[
        str | None, typer.Option("--operator", help="Show only the operator of this uid or name.")
    ] = None,
    pdb: Annotated[bool, typer.Option("--pdb", help="If the epoch fails, look around where it did.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-l", min=0, help="Show at most so many elements.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """Runs an epoch again in this process, with its exact input and state; sinks write nothing.

    Shows what went into and came out of each operator and what its state became. Exit code 1 if the epoch fails.
    """
    from penstock.runtime.replay import replay as run_again

    found = run_again(folder, epoch, limit)
    shown = [op for op in found.operators.values() if operator in (None, op.uid, op.name)]
    if operator is not None and not shown:
        have = ", ".join(f"{op.uid} ({op.name})" for op in found.operators.values())
        raise typer.BadParameter(f"no operator '{operator}'; there are {have}")
    if as_json:
        typer.echo(json.dumps(_as_data(found, shown), default=repr, indent=2))
    else:
        _show(found, shown, limit)
    if found.error is not None:
        if pdb:
            _look_around(found.error)
        raise typer.Exit(EXIT_FAILED)


def _show(found: Replay, shown: list[OperatorReplay], limit: int) -> None:
    from penstock.cli.state import show_difference

    typer.echo(
        f"epoch {found.epoch}" + (f", which failed: {found.failed.splitlines()[0]}" if found.failed else "")
    )
    for op in shown:
        typer.echo(f"\n{op.name} ({op.uid}): {len(op.inputs)} in, {len(op.outputs)} out")
        for arrow, elements in (("<-", op.inputs), ("->", op.outputs)):
            for seen in elements[:limit]:
                typer.echo(f"  {arrow} {_told(seen)}")
            if len(elements) > limit:
                typer.echo(f"  {arrow} … and {len(elements) - limit} more (--limit)")
    if found.changes is not None:
        typer.echo("")
        uids = {op.uid for op in shown}
        found.changes.operators = [op for op in found.changes.operators if op.uid in uids]
        show_difference(found.changes)
    if found.error is not None:
        typer.echo(f"\nfailed: {found.error}")


def _told(seen: Seen) -> str:
    time = "" if seen.timestamp is None else f" at {seen.timestamp}"
    port = f" [{seen.port}]" if seen.port else ""
    return f"subtask {seen.subtask}{port}: {seen.value!r}{time}"


def _as_data(found: Replay, shown: list[OperatorReplay]) -> dict[str, Any]:
    return {
        "epoch": found.epoch,
        "operators": [asdict(op) for op in shown],
        "changes": None if found.changes is None else asdict(found.changes),
        "error": None if found.error is None else str(found.error),
    }


def _look_around(error: BaseException) -> None:
    """A debugger where the user's function raised, or else where penstock did."""
    import pdb

    cause = error.__cause__ if error.__cause__ is not None else error
    pdb.post_mortem(cause.__traceback__)
