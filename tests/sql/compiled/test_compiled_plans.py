"""Compiled plans: written, edited, loaded in another session, refused where they do not fit."""

from __future__ import annotations

import json
import pathlib
import time
from typing import Any

import pytest

from penstock.common import Types
from penstock.common.errors import NotSupportedError, StateMigrationError, ValidationError
from penstock.datastream import StreamExecutionEnvironment
from penstock.runtime.in_process import InProcessEpochs
from penstock.sql.streaming import jobs
from penstock.table import (
    DataTypes,
    EnvironmentSettings,
    PlanReference,
    StreamTableEnvironment,
    TableEnvironment,
)
from penstock.table.expressions import col
from penstock.table.udf import udf
from penstock.util.exceptions import TableException

CSV = "'connector' = 'filesystem', 'format' = 'csv'"
COUNT = "INSERT INTO counts SELECT k, COUNT(*) FROM a GROUP BY k"
JOIN = "INSERT INTO counts SELECT a.k, b.v FROM a LEFT JOIN b ON a.k = b.k"


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "make_runner", lambda job: InProcessEpochs(job))


def environment(
    folder: pathlib.Path | None, sinks: str = "blackhole", batch: bool = False
) -> TableEnvironment:
    """Tables a and b of a folder and a sink that takes changes; without a folder no tables at all."""
    mode = EnvironmentSettings.in_batch_mode if batch else EnvironmentSettings.in_streaming_mode
    env = TableEnvironment.create(mode())
    if folder is None:
        return env
    for name in "ab":
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "rows.csv").write_text("".join(f"{i % 5},{i}\n" for i in range(20)))
        path = (folder / name).as_uri()
        env.execute_sql(f"CREATE TABLE {name} (k INT, v BIGINT) WITH ({CSV}, 'path' = '{path}')")
    env.execute_sql(f"CREATE TABLE counts (k INT, n BIGINT) WITH ('connector' = '{sinks}')")
    out = (folder / "out").as_uri()
    env.execute_sql(f"CREATE TABLE rows_out (k INT, n BIGINT) WITH ({CSV}, 'path' = '{out}')")
    return env


@pytest.fixture
def env(tmp_path: pathlib.Path) -> TableEnvironment:
    return environment(tmp_path)


def written(folder: pathlib.Path) -> list[str]:
    files = [f for f in (folder / "out").glob("*") if f.is_file() and not f.name.startswith((".", "_"))]
    return sorted(line for f in files for line in f.read_text().splitlines())


def load(env: TableEnvironment, content: Any) -> Any:
    return env.load_plan(PlanReference.from_json_string(json.dumps(content)))


def compiled(env: TableEnvironment, sql: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(env.compile_plan_sql(sql).as_json_string())
    return found


def test_a_plan_has_a_version_operators_and_tables(env: TableEnvironment) -> None:
    content = compiled(env, COUNT)
    assert (content["flinkVersion"], content["penstockPlan"], content["mode"]) == ("2.3", 1, "streaming")
    assert content["statements"] == [COUNT]
    scan, group, sink = content["operators"]
    assert (scan["type"], group["type"], sink["type"]) == ("TableSourceScan", "Aggregate", "Sink")
    assert (scan["inputs"], group["inputs"], sink["inputs"]) == ([], [1], [2])
    assert group["state"] == [{"index": 0, "ttl": "0 ms", "name": "groupAggregateState"}]
    assert content["tables"][0]["identifier"] == "`default_catalog`.`default_database`.`a`"
    assert content["tables"][0]["options"]["format"] == "csv"


def test_compiling_twice_gives_the_same_text(env: TableEnvironment, tmp_path: pathlib.Path) -> None:
    again = environment(tmp_path).compile_plan_sql(JOIN).as_json_string()
    assert env.compile_plan_sql(JOIN).as_json_string() == again


def test_a_plan_runs_where_the_tables_are_not_known(env: TableEnvironment, tmp_path: pathlib.Path) -> None:
    plan = compiled(env, "INSERT INTO rows_out SELECT k, v FROM a WHERE v < 3")
    load(environment(None), plan).execute().wait()
    assert written(tmp_path) == ["0,0", "1,1", "2,2"]


def test_a_statement_set_is_one_plan(env: TableEnvironment, tmp_path: pathlib.Path) -> None:
    statements = env.create_statement_set()
    statements.add_insert_sql("INSERT INTO rows_out SELECT k, v FROM a WHERE v < 2")
    statements.add_insert_sql(COUNT)
    plan = json.loads(statements.compile_plan().as_json_string())
    assert [item["uid"] for item in plan["operators"] if item["type"] == "Sink"] == [
        "sink-rows_out",
        "sink-counts",
    ]
    load(environment(None), plan).execute().wait()
    assert written(tmp_path) == ["0,0", "1,1"]


def test_a_pipeline_of_the_table_api_is_compiled(env: TableEnvironment, tmp_path: pathlib.Path) -> None:
    rows = env.from_elements(
        [(1, 7), (2, 8)],
        DataTypes.ROW([DataTypes.FIELD("k", DataTypes.INT()), DataTypes.FIELD("n", DataTypes.BIGINT())]),
    )
    pipeline = rows.filter(col("k") > 1).insert_into("rows_out")
    load(environment(None), json.loads(pipeline.compile_plan().as_json_string())).execute().wait()
    assert written(tmp_path) == ["2,8"]


def _nodes(result: Any) -> dict[str, tuple[str, int]]:
    [job] = result._result.details["jobs"]
    graph = job.coordinator.job.graph
    return {node.name.split("(")[0]: (node.uid, node.parallelism) for node in graph.nodes}


def test_uid_and_parallelism_of_operators_can_be_edited(env: TableEnvironment) -> None:
    plan = compiled(env, COUNT)
    scan, group, sink = plan["operators"]
    scan["parallelism"], scan["uid"] = 2, "readers"
    group["parallelism"], group["uid"] = 3, "groups"
    sink["uid"] = "the-end"
    result = load(env, plan).execute()
    result.wait()
    nodes = _nodes(result)
    assert nodes["TableSourceScan"] == ("readers", 2)
    assert nodes["Aggregate"] == ("groups", 3)
    assert nodes["Sink"][0] == "the-end"


def test_the_writers_of_a_sink_can_be_edited(tmp_path: pathlib.Path) -> None:
    env = environment(tmp_path)
    plan = compiled(env, "INSERT INTO rows_out SELECT k, v FROM a")
    plan["operators"][-1]["parallelism"] = 2
    result = load(env, plan).execute()
    result.wait()
    assert _nodes(result)["Sink"] == ("sink-rows_out", 2)
    assert len(written(tmp_path)) == 20


@pytest.mark.parametrize(
    ("sql", "ttls"),
    [
        (COUNT, ["1 h"]),
        (JOIN, ["1 d", "2 d"]),
        ("INSERT INTO counts SELECT DISTINCT k, v FROM a", ["30 s"]),
        (
            "INSERT INTO counts SELECT k, v FROM "
            "(SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM a) WHERE n <= 2",
            ["5 min"],
        ),
        ("INSERT INTO counts SELECT k, v FROM a INTERSECT SELECT k, v FROM b", ["7 s"]),
    ],
)
def test_times_to_live_can_be_edited(env: TableEnvironment, sql: str, ttls: list[str]) -> None:
    plan = compiled(env, sql)
    [stateful] = [item for item in plan["operators"] if "state" in item]
    assert [state["ttl"] for state in stateful["state"]] == ["0 ms"] * len(ttls)
    for state, ttl in zip(stateful["state"], ttls, strict=True):
        state["ttl"] = ttl
    text = load(env, plan).explain()
    millis = {
        "1 h": 3_600_000,
        "1 d": 86_400_000,
        "2 d": 172_800_000,
        "30 s": 30_000,
        "5 min": 300_000,
        "7 s": 7_000,
    }
    assert f"stateTtl=[{', '.join(f'{millis[t]} ms' for t in ttls)}]" in text


def test_the_configuration_of_the_compilation_counts(env: TableEnvironment) -> None:
    env.get_config().set("table.exec.state.ttl", "1 h")
    plan = compiled(env, COUNT)
    env.get_config().set("table.exec.state.ttl", "2 h")
    assert "stateTtl=[3600000 ms]" in load(env, plan).explain()


CHAIN = "INSERT INTO counts SELECT a.k, c.v FROM a JOIN b ON a.k = b.k JOIN a AS c ON b.k = c.k"


def test_joins_in_a_row_name_the_way_to_times_to_live(env: TableEnvironment) -> None:
    plan = compiled(env, CHAIN)
    [join] = [item for item in plan["operators"] if item["type"] == "MultiJoin"]
    assert len(join["state"]) == 3
    join["state"][1]["ttl"] = "1 h"
    with pytest.raises(
        ValidationError, match=r"cannot keep state1 for 1 h \(set 'table.optimizer.multi-join"
    ):
        load(env, plan)
    env.get_config().set("table.optimizer.multi-join.enabled", "false")
    plan = compiled(env, CHAIN)
    for item in plan["operators"]:
        for state in item.get("state", []):
            state["ttl"] = "1 h"
    env.get_config().set("table.optimizer.multi-join.enabled", "true")
    assert load(env, plan).explain().count("stateTtl=[3600000 ms, 3600000 ms]") == 2


@pytest.mark.parametrize(
    "sql", [COUNT, JOIN, CHAIN, "INSERT INTO rows_out SELECT k, v + 1 FROM a WHERE v > 3"]
)
def test_operators_have_the_uids_of_the_plain_statement(env: TableEnvironment, sql: str) -> None:
    plain, stored = env.execute_sql(sql), load(env, compiled(env, sql)).execute()
    found = []
    for result in (plain, stored):
        result.wait()
        [job] = result._result.details["jobs"]
        found.append([(node.name, node.uid) for node in job.coordinator.job.graph.nodes])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda p: p["operators"].pop(1), "it has 2 operators and 3 would run"),
        (
            lambda p: p["operators"][1].update(type="Join"),
            "type of operator 2 is 'Join' in the plan and 'Aggregate'",
        ),
        (lambda p: p["operators"][1].update(uid="sink-counts"), "have the same uid 'sink-counts'"),
        (lambda p: p["operators"][1].update(uid=""), "has no uid"),
        (lambda p: p["operators"][1].update(parallelism=0), "the parallelism of operator 2 .* is 0"),
        (lambda p: p["operators"][1].pop("state"), "the state of operator 2 is not the same"),
        (lambda p: p.update(penstockPlan=99), "has format 99, and this version reads 1"),
        (lambda p: p.update(mode="batch"), "compiled for batch mode"),
        (lambda p: p.pop("inserts"), "there is no 'inserts'"),
        (lambda p: p["inserts"][0].update({"$": "Nothing"}), "not known here: 'Nothing'"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused(env: TableEnvironment, edit: Any, message: str) -> None:
    plan = compiled(env, COUNT)
    edit(plan)
    with pytest.raises(ValidationError, match=message):
        load(env, plan)


def test_an_operator_of_one_task_stays_one(env: TableEnvironment) -> None:
    plan = compiled(env, "INSERT INTO counts SELECT CAST(COUNT(*) AS INT), MAX(v) FROM a")
    [group] = [item for item in plan["operators"] if item["type"] == "Aggregate"]
    assert group["parallelism"] == 1
    group["parallelism"] = 4
    with pytest.raises(ValidationError, match="is 4, and it can only be 1"):
        load(env, plan)


def test_texts_that_are_no_plans_are_refused(env: TableEnvironment) -> None:
    with pytest.raises(TableException, match="it is not JSON"):
        env.load_plan(PlanReference.from_json_string("xx"))
    with pytest.raises(TableException, match="not a compiled plan"):
        env.load_plan(PlanReference.from_json_string("{}"))
    with pytest.raises(NotSupportedError, match="a plan that Flink compiled"):
        env.load_plan(PlanReference.from_json_string('{"flinkVersion": "2.3", "nodes": [], "edges": []}'))
    with pytest.raises(NotSupportedError, match="Smile"):
        env.load_plan(PlanReference.from_smile_bytes(b":)\n\x05"))
    with pytest.raises(TableException, match="cannot load plan from file"):
        env.load_plan(PlanReference.from_file("/nowhere/plan.json"))
    with pytest.raises(TableException, match="only an INSERT or a statement set"):
        env.compile_plan_sql("SELECT 1")


def test_a_table_whose_columns_changed_is_refused(env: TableEnvironment) -> None:
    plan = compiled(env, COUNT)
    env.execute_sql("DROP TABLE a")
    env.execute_sql("CREATE TABLE a (k BIGINT, v BIGINT) WITH ('connector' = 'datagen')")
    with pytest.raises(ValidationError, match=r"schema of table .*`a` is not the one"):
        load(env, plan)
    env.get_config().set("table.plan.restore.catalog-objects", "ALL_ENFORCED")
    assert "Aggregate" in load(env, plan).explain()


def test_options_come_from_the_plan_unless_it_has_none(env: TableEnvironment, tmp_path: pathlib.Path) -> None:
    env.get_config().set("table.plan.compile.catalog-objects", "SCHEMA")
    plan = compiled(env, "INSERT INTO rows_out SELECT k, v FROM a WHERE v < 1")
    assert all("options" not in entry for entry in plan["tables"])
    with pytest.raises(ValidationError, match="connector"):
        load(environment(None), plan)
    env.get_config().set("table.plan.compile.catalog-objects", "IDENTIFIER")
    plan = compiled(env, "INSERT INTO rows_out SELECT k, v FROM a WHERE v < 1")
    assert all(list(entry) == ["identifier"] for entry in plan["tables"])
    with pytest.raises(ValidationError, match="which no catalog of this session has"):
        load(environment(None), plan)
    load(env, plan).execute().wait()
    assert written(tmp_path) == ["0,0"]


def test_functions_are_found_by_name(env: TableEnvironment, tmp_path: pathlib.Path) -> None:
    add = udf(lambda v: v + 1, result_type=DataTypes.BIGINT())
    env.create_temporary_system_function("add_one", add)
    plan = compiled(env, "INSERT INTO rows_out SELECT k, add_one(v) FROM a WHERE v < 2")
    other = environment(None)
    with pytest.raises(ValidationError, match="calls function 'add_one', which this session does not have"):
        load(other, plan)
    other.create_temporary_system_function("add_one", add)
    load(other, plan).execute().wait()
    assert written(tmp_path) == ["0,1", "1,2"]


def test_what_only_the_program_has_is_refused(env: TableEnvironment, tmp_path: pathlib.Path) -> None:
    inline = udf(lambda v: v, result_type=DataTypes.BIGINT())
    pipeline = env.from_path("a").select(col("k"), inline(col("v"))).insert_into("rows_out")
    with pytest.raises(NotSupportedError, match="not registered under its name"):
        pipeline.compile_plan()
    streams = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(streams)
    t_env.execute_sql("CREATE TABLE o (f0 BIGINT) WITH ('connector' = 'blackhole')")
    table = t_env.from_data_stream(streams.from_collection([1, 2], Types.LONG()))
    with pytest.raises(NotSupportedError, match="a DataStream of the program"):
        table.insert_into("o").compile_plan()


# -- SQL and files -------------------------------------------------------------------------------------------


def test_plans_are_written_to_files_once(env: TableEnvironment, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "plans" / "count.json"
    plan = env.compile_plan_sql(COUNT)
    plan.write_to_file(file)
    assert file.read_text() == plan.as_json_string() + "\n"
    with pytest.raises(TableException, match="cannot overwrite the plan file"):
        plan.write_to_file(file)
    plan.write_to_file(str(file), ignore_if_exists=True)
    assert env.load_plan(PlanReference.from_file(file)).as_json_string() == plan.as_json_string()
    assert env.load_plan(PlanReference.from_smile_bytes(plan.as_smile_bytes())).get_flink_version() == "2.3"


def test_compile_and_execute_in_sql(env: TableEnvironment, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "plan.json"
    insert = "INSERT INTO rows_out SELECT k, v FROM a WHERE v < 2"
    assert [r[0] for r in env.execute_sql(f"COMPILE PLAN '{file}' FOR {insert}").collect()] == ["OK"]
    before = file.read_text()
    assert json.loads(before)["statements"] == [insert]
    with pytest.raises(TableException, match="cannot overwrite"):
        env.execute_sql(f"COMPILE PLAN '{file}' FOR {insert}")
    env.execute_sql(f"COMPILE PLAN '{file}' IF NOT EXISTS FOR {COUNT}")
    assert file.read_text() == before
    env.execute_sql(f"EXECUTE PLAN '{file}'").wait()
    assert written(tmp_path) == ["0,0", "1,1"]
    env.get_config().set("table.plan.force-recompile", "true")
    env.execute_sql(f"COMPILE PLAN '{file}' FOR {COUNT}")
    assert json.loads(file.read_text())["statements"] == [COUNT]


def test_compile_and_execute_runs_the_plan_that_is_there(
    env: TableEnvironment, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "plan.json"
    first = f"STATEMENT SET BEGIN INSERT INTO rows_out SELECT k, v FROM a WHERE v < 2; {COUNT}; END"
    env.execute_sql(f"COMPILE AND EXECUTE PLAN '{file}' FOR {first}").wait()
    assert written(tmp_path) == ["0,0", "1,1"]
    env.execute_sql(f"COMPILE AND EXECUTE PLAN '{file}' FOR {COUNT}").wait()
    assert written(tmp_path) == ["0,0", "0,0", "1,1", "1,1"]


def test_plans_of_batch_mode_are_kept_too(tmp_path: pathlib.Path) -> None:
    env = environment(tmp_path, batch=True)
    plan = compiled(env, "INSERT INTO rows_out SELECT k, SUM(v) FROM a GROUP BY k")
    assert (plan["mode"], plan["operators"]) == ("batch", [])
    assert "Catalyst" in load(environment(None, batch=True), plan).explain()
    with pytest.raises(ValidationError, match="compiled for batch mode"):
        load(environment(None), plan)


# -- state ---------------------------------------------------------------------------------------------------


def _until(done: Any, what: Any) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline, what()
        time.sleep(0.05)


def test_a_savepoint_of_a_plan_is_restored_by_the_plan(tmp_path: pathlib.Path) -> None:
    """The uids are the plan's own: edited ones, and a parallelism that is another one after the restart."""
    source = environment(tmp_path)
    source.execute_sql("ALTER TABLE a SET ('source.monitor-interval' = '100 ms')")
    plan = compiled(source, "INSERT INTO rows_out SELECT DISTINCT k, v FROM a WHERE v < 3")
    plan["operators"][1]["uid"] = "seen"
    result = load(environment(None), plan).execute()
    _until(lambda: written(tmp_path) == ["0,0", "1,1", "2,2"], lambda: written(tmp_path))
    job = result.get_job_client()
    assert job is not None
    savepoint = job.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()

    (tmp_path / "a" / "more.csv").write_text("0,0\n7,1\n2,2\n")
    plan["operators"][1]["parallelism"] = 3
    again = environment(None)
    again.get_config().set("execution.state-recovery.path", savepoint)
    job = load(again, plan).execute().get_job_client()
    assert job is not None
    _until(lambda: "7,1" in written(tmp_path), lambda: written(tmp_path))
    job.cancel().result()
    assert written(tmp_path) == ["0,0", "1,1", "2,2", "7,1"]

    plan["operators"][1]["uid"] = "another"
    with pytest.raises(StateMigrationError, match="does not have: 'seen'"):
        load(again, plan).execute().wait()


FALLS = """
    INSERT INTO rows_out SELECT k, lowest FROM ticks MATCH_RECOGNIZE (
      PARTITION BY k ORDER BY ts
      MEASURES LAST(DOWN.price) AS lowest
      AFTER MATCH SKIP TO LAST UP
      PATTERN (F DOWN{2,} UP) WITHIN INTERVAL '1' MINUTE
      DEFINE DOWN AS DOWN.price < COALESCE(LAST(DOWN.price, 1), F.price) AND MAX(DOWN.price) < 100,
             UP AS UP.price > LAST(DOWN.price))"""


@pytest.mark.parametrize("batch", [False, True], ids=["streaming", "batch"])
def test_a_plan_may_look_for_patterns_of_rows(tmp_path: pathlib.Path, batch: bool) -> None:
    env = environment(tmp_path, batch=batch)
    (tmp_path / "ticks").mkdir()
    prices = [9, 7, 4, 5, 8, 6, 3, 2, 7, 120, 110, 105, 130]
    lines = [f"1,{price},2020-01-01 00:00:{at:02d}\n" for at, price in enumerate(prices)]
    (tmp_path / "ticks" / "rows.csv").write_text("".join(lines))
    env.execute_sql(
        "CREATE TABLE ticks (k INT, price BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        f"WITH ({CSV}, 'path' = '{(tmp_path / 'ticks').as_uri()}')"
    )
    plan = compiled(env, FALLS)
    load(environment(None, batch=batch), plan).execute().wait()
    assert written(tmp_path) == ["1,2", "1,4"]
