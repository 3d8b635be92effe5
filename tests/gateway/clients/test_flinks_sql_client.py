"""Flink's own SQL client, from its package and unmodified, runs a script against our gateway."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess

import pytest

from penstock.runtime.in_process import InProcessEpochs
from penstock.sql.streaming import jobs
from tests.gateway.served import ServedGateway
from tests.servers.flink import sql_client_home
from tests.servers.process import find_program

pytestmark = pytest.mark.spark

SCRIPT = """
SET 'sql-client.execution.result-mode' = 'tableau';
SET 'execution.runtime-mode' = 'batch';
SET 'table.local-time-zone' = 'Asia/Shanghai';
CREATE TABLE people (id INT, name STRING, born TIMESTAMP_LTZ(3)) WITH (
  'connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv');
SET 'table.dml-sync' = 'true';
INSERT INTO people VALUES (1, 'ann', TO_TIMESTAMP_LTZ(0, 3)), (2, 'bob', TO_TIMESTAMP_LTZ(1000, 3));
SELECT * FROM people ORDER BY id;
SET 'execution.runtime-mode' = 'streaming';
CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3',
  'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '3');
SELECT n, n * 2 AS m FROM numbers;
SHOW TABLES;
SHOW JOBS;
SELECT nope FROM numbers;
"""


def test_a_script_with_tables_inserts_batch_and_streaming_queries(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "make_runner", InProcessEpochs)
    script = tmp_path / "script.sql"
    script.write_text(SCRIPT.format(folder=tmp_path / "people"))
    with ServedGateway() as gateway:
        shown = run_client(gateway.port, script)
    for expected in EXPECTED:
        assert expected.strip("\n") in shown, f"{expected}\nis missing in\n{shown}"
    assert shown.count("[INFO] Execute statement succeeded.") == 7
    assert "column 'nope' not found in any table" in shown


def run_client(port: int, script: pathlib.Path) -> str:
    """What `sql-client.sh gateway -f script` shows, without colours."""
    find_program("java", "default-jre-headless")
    home = sql_client_home()
    command = [str(home / "bin" / "sql-client.sh"), "gateway", "-e", f"127.0.0.1:{port}", "-f", str(script)]
    java = f"-Xmx512m -Duser.home={script.parent}"  # where it keeps its history
    variables = {**os.environ, "FLINK_ENV_JAVA_OPTS": java, "FLINK_LOG_DIR": str(script.parent)}
    variables.pop("FLINK_CONF_DIR", None)
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=500)
    return re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr)


EXPECTED = [
    "[INFO] Complete execution of the SQL update statement.",
    """
+----+------+-------------------------+
| id | name |                    born |
+----+------+-------------------------+
|  1 |  ann | 1970-01-01 08:00:00.000 |
|  2 |  bob | 1970-01-01 08:00:01.000 |
+----+------+-------------------------+
2 rows in set""",
    """
+----+-------------+-------------+
| op |           n |           m |
+----+-------------+-------------+
| +I |           1 |           2 |
| +I |           2 |           4 |
| +I |           3 |           6 |
+----+-------------+-------------+
Received a total of 3 rows""",
    """
|    numbers |
|     people |
+------------+
2 rows in set""",
    "insert-into_default_catalog.default_database.people | FINISHED |",
]
