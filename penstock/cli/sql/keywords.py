"""Words of Flink SQL, for highlighting and completion."""

from __future__ import annotations

from penstock.sql.dialect.reserved import RESERVED

__all__ = ["COMMANDS", "KEYWORDS", "TYPES"]

_TYPES = """ARRAY BIGINT BINARY BOOLEAN BYTES CHAR DATE DECIMAL DOUBLE FLOAT INT INTEGER MAP MULTISET NUMERIC RAW ROW
SMALLINT STRING TIME TIMESTAMP TIMESTAMP_LTZ TINYINT VARBINARY VARCHAR VARIANT"""

TYPES = frozenset(_TYPES.split())

# Not reserved, so they may be names too; after these a reader still expects a keyword.
_NOT_RESERVED = """ADD AFTER ANALYZE ASC CATALOG CHANGELOG_MODE COLUMNS COMPUTE CONSTRAINT CUMULATE DATABASE DESC
DESCRIPTOR ENFORCED ESTIMATED_COST EXCLUDING FIRST GENERATED HOP IF INCLUDING INTO JSON_EXECUTION_PLAN KEY LAST
LOAD METADATA MODEL NULLS OPTIONS OVERWRITE PARTITIONED PARTITIONS PLAN REPLACE SESSION STATISTICS TEMPORARY TUMBLE
UNLOAD VIEW VIRTUAL"""

KEYWORDS = frozenset(RESERVED | TYPES | set(_NOT_RESERVED.split()))

COMMANDS = {
    "HELP": "Shows this list.",
    "CLEAR": "Clears the screen.",
    "QUIT": "Leaves; so do EXIT and Ctrl-D.",
    "SET": "SET 'key' = 'value'; changes an option of the session, SET; lists them.",
    "RESET": "RESET 'key'; takes an option back to its default, RESET; all of them.",
    "SHOW": "SHOW CATALOGS | DATABASES | TABLES | VIEWS | FUNCTIONS | JOBS; SHOW CREATE TABLE t;",
    "DESCRIBE": "DESCRIBE t; shows the columns of a table.",
    "EXPLAIN": "EXPLAIN <query>; shows how a query runs.",
    "STOP JOB": "STOP JOB 'id' [WITH SAVEPOINT]; ends a job that SHOW JOBS lists.",
    "SELECT": "Runs a query and shows its rows.",
    "INSERT INTO": "Writes the rows of a query to a table.",
    "BEGIN STATEMENT SET": "The INSERTs up to END; run together.",
}
