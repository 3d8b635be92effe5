"""OpenLineage: a job tells where its data comes from and goes to, when it starts, runs and ends.

    openlineage.transport.type: http            (or file, console)
    openlineage.transport.url: http://localhost:5000
    openlineage.namespace: orders

All keys are in docs/operations.md. `events.py` makes the events, `transport.py` brings them somewhere, `telling.py`
watches jobs.
"""

from penstock.runtime.open_lineage.telling import LineageTelling, lineage_telling

__all__ = ["LineageTelling", "lineage_telling"]
