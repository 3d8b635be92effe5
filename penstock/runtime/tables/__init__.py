"""Operators over tables of changes, and how tables travel between subtasks: what SQL adds to the element engine.

A table operator is an ordinary `Operator`: it lives in a stage, has the same context, state, checkpoints and
watermarks as the operators of a DataStream program, and may stand before or behind any of them. It only handles
Arrow tables where those handle lists of values (`process_table` / `emit_table`).

    source.py      reads a connector in columns, row time and watermarks row by row
    linear.py      projections, filters and functions on columns
    local.py       what is put together before an exchange
    delta.py       hosts an operator of `penstock.delta`
    lookup.py      asks a table for the rows of each key
    sink.py        writes through a connector, or brings changes to the program
    border.py      elements to tables and back
    parcels.py     tables on the wire, and which subtask owns which row
"""
