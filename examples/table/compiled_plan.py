"""A pipeline is planned once, kept as JSON, edited, and run by another session."""

import json
import tempfile

from penstock.table import EnvironmentSettings, PlanReference, TableEnvironment

folder = tempfile.mkdtemp()
t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.execute_sql(
    "CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '6',"
    " 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '6')"
)
t_env.execute_sql(
    f"CREATE TABLE rests (r INT) WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv')"
)
plan = json.loads(
    t_env.compile_plan_sql("INSERT INTO rests SELECT DISTINCT n % 3 FROM numbers").as_json_string()
)
for operator in plan["operators"]:
    print(operator["type"], *(state["name"] for state in operator.get("state", [])))
    if operator["type"] == "Aggregate":
        operator["uid"], operator["parallelism"] = "rests-seen", 2

other = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
other.load_plan(PlanReference.from_json_string(json.dumps(plan))).execute().wait()
print(sorted(row[0] for row in t_env.from_path("rests").execute().collect()))
