"""Delta operators that wait for time: windows, window joins, interval and temporal joins, OVER.

All of them judge a row by the watermark that was emitted before it (`Batch.watermarks`), keep what is not
late, and do their work when the watermark passes, in the order of time. So their result does not depend on
where an epoch was cut. Timestamps inside are milliseconds since 1970 (`clock.py`).
"""
