"""Runs scripts of statements, the last of each an INSERT; on PyFlink where that is installed, else on penstock.

usage: nexmark_flink_api.py TASK.json   {"scripts": {name: [run, ...]}, "settings": {key: value}}; a run is a list of
statements. Prints a JSON object per name, as soon as it is through: the seconds of its last run, or its error.
"""

import json
import sys
import time

try:
    import pyflink  # noqa: F401
except ImportError:
    from penstock.runtime.compat import install_pyflink_alias

    install_pyflink_alias()

from pyflink.table import EnvironmentSettings, TableEnvironment


def main():
    with open(sys.argv[1]) as file:
        task = json.load(file)
    for name, runs in task["scripts"].items():
        print(json.dumps({"query": name, **outcome(runs, task["settings"])}), flush=True)


def outcome(runs, settings):
    try:
        for statements in runs:
            found = run(statements, settings)
        return found
    except Exception as error:
        text = str(error)
        causes = [line for line in text.splitlines() if "Caused by" in line or "Exception:" in line]
        return {"error": (causes[-1] if causes else text)[-400:].strip()}


def run(statements, settings):
    """Seconds from the INSERT to the end of its job, and what penstock knows of it."""
    modes = {"batch": EnvironmentSettings.in_batch_mode, "streaming": EnvironmentSettings.in_streaming_mode}
    t_env = TableEnvironment.create(modes[settings.get("execution.runtime-mode", "streaming")]())
    for key, value in settings.items():
        t_env.get_config().set(key, value)
    *before, insert = statements
    for statement in before:
        t_env.execute_sql(statement)
    started = time.perf_counter()
    result = t_env.execute_sql(insert)
    result.wait()
    found = {"seconds": time.perf_counter() - started}
    details = getattr(getattr(result, "_result", None), "details", None)
    if details:
        statistics = details["jobs"][0].statistics
        found["epochs"] = statistics.epochs
        found["restarts"] = statistics.restarts
    return found


main()
