"""What can be done with the changes of an epoch before they are sent to the subtask that owns their key.

A local stage sees a table of Arrow columns (the columns of a stateful operator's input, then kind, watermark and
position) and gives a smaller one that means the same to the operator: partial aggregates instead of rows, or only the
rows that can be among the first n. It has no state, and Arrow does it without a Python object per value.
"""
