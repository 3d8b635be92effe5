"""dbt with its adapter for Flink, from its package and unmodified, runs a small project against our gateway."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest

from tests.gateway.served import ServedGateway
from tests.servers.flink import find_python, install
from tests.servers.packages import cache_folder

pytestmark = pytest.mark.spark

FILES = {
    "dbt_project.yml": """
name: shop
version: "1.0.0"
config-version: 2
profile: shop
model-paths: ["models"]
seed-paths: ["seeds"]
seeds:
  shop:
    orders:
      +connector_properties: {{connector: filesystem, path: {data}/orders, format: csv}}
models:
  shop:
    +materialized: view
    big_orders:
      +materialized: table
      +connector_properties: {{connector: filesystem, path: {data}/big_orders, format: csv}}
""",
    "profiles.yml": """
shop:
  target: dev
  outputs:
    dev: {{type: flink, host: 127.0.0.1, port: {port}, session_name: dbt, database: default_catalog,
           schema: default_database}}
""",
    "seeds/orders.csv": "id,name\n1,ann\n2,bob\n3,eve\n",
    "models/priced.sql": "select id, name from {{{{ ref('orders') }}}} where id > 1",
    "models/big_orders.sql": "select id, upper(name) as name from {{{{ ref('priced') }}}}",
}


def test_a_project_with_a_seed_a_view_and_a_table(tmp_path: pathlib.Path) -> None:
    python = find_python("3.10", "3.9", "3.8")  # the adapter pins a dbt that knows no later one
    dbt = install(cache_folder() / "dbt-flink", "wheel", "dbt-flink-adapter==1.3.11", with_python=python)
    with ServedGateway({"table.dml-sync": "true"}) as gateway:
        for name, text in FILES.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text.format(data=tmp_path / "data", port=gateway.port))
        run_dbt(dbt, tmp_path, "seed")
        said = run_dbt(dbt, tmp_path, "run")
    assert "OK created sql view model priced" in said
    assert "OK created sql table model big_orders" in said
    written = [
        line for p in (tmp_path / "data" / "big_orders").rglob("part-*") for line in p.read_text().split()
    ]
    assert sorted(written) == ["2,BOB", "3,EVE"]


def run_dbt(python: pathlib.Path, project: pathlib.Path, command: str) -> str:
    """What a command says; it must go well."""
    (project / ".dbt").mkdir(exist_ok=True)  # where the adapter keeps its session
    variables = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    variables.update(HOME=str(project), DBT_PROFILES_DIR=str(project), DBT_SEND_ANONYMOUS_USAGE_STATS="false")
    call = [str(python.parent / "dbt"), "--no-use-colors", command]
    done = subprocess.run(call, cwd=project, env=variables, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
