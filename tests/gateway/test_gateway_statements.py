"""Statements and their results, page by page; jobs run in this process."""

from __future__ import annotations

import pathlib
import threading

import pytest

from penstock.gateway import GatewayService
from penstock.runtime.job_list import find_job
from tests.gateway.client import GatewayUser, gateway_threads, until

ENDLESS = "CREATE TABLE endless (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '100')"
BLACKHOLE = "CREATE TABLE hole (n BIGINT) WITH ('connector' = 'blackhole')"


def test_statements_without_rows_say_ok(gateway: GatewayUser) -> None:
    operation = gateway.submit("CREATE TABLE t (a INT NOT NULL) WITH ('connector' = 'datagen')")
    first, last = gateway.pages(operation)
    assert {k: v for k, v in first.items() if k != "nextResultUri"} == {
        "resultType": "PAYLOAD",
        "isQueryResult": False,
        "resultKind": "SUCCESS",
        "results": {
            "columns": [
                {
                    "name": "result",
                    "logicalType": {"type": "VARCHAR", "nullable": True, "length": 2147483647},
                    "comment": None,
                }
            ],
            "rowFormat": "JSON",
            "data": [{"kind": "INSERT", "fields": ["OK"]}],
        },
    }
    assert first["nextResultUri"] == f"/v2{gateway.path(operation, '/result/1?rowFormat=JSON')}"
    assert last["resultType"] == "EOS"
    assert last["results"]["data"] == []
    assert "nextResultUri" not in last
    assert gateway.status(operation) == "FINISHED"


def test_a_page_can_be_fetched_twice_and_others_not(gateway: GatewayUser) -> None:
    operation = gateway.submit("SHOW CATALOGS")
    first = gateway.first_page(operation)
    assert gateway.page(operation, 0) == first
    assert "Expecting token to be 1 or 0, but found 5." in gateway.page(operation, 5, status=500)["errors"][1]
    assert gateway.page(operation, 1)["resultType"] == "EOS"
    assert gateway.page(operation, 1)["resultType"] == "EOS"
    assert gateway.page(operation, 0)["results"]["data"] == []


def test_options_are_the_session_s_own(gateway: GatewayUser) -> None:
    first = gateway.open()
    gateway.run("SET 'k.k' = 'v'", "CREATE VIEW mine AS SELECT 1")
    assert ["k.k", "v"] in gateway.rows("SET")
    gateway.open()
    assert "k.k" not in dict(gateway.rows("SET"))
    assert gateway.rows("SHOW VIEWS") == []
    gateway._session = first
    gateway.run("RESET")
    assert dict(gateway.rows("SET")) == {"execution.runtime-mode": "STREAMING"}
    assert gateway.rows("SHOW VIEWS") == [["mine"]]


def test_an_option_may_hold_for_one_statement(gateway: GatewayUser) -> None:
    query = "SELECT COUNT(*) FROM (VALUES (1), (1), (1)) t(a)"
    assert len(gateway.rows(query, **{"penstock.changelog.detail": "every-change"})) == 5
    assert len(gateway.rows(query, **{"penstock.changelog.detail": "net"})) == 1
    assert "penstock.changelog.detail" not in dict(gateway.rows("SET"))


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELCT 1", "this is not the beginning of a statement"),
        ("SELECT nope FROM (VALUES (1)) t(a)", "nope"),
        ("SELECT 1; SELECT 2", "expected one statement, found 2"),
        ("", "expected one statement, found 0"),
        ("SET 'execution.runtime-mode' = 'sometimes'", "sometimes"),
        ("END", "No Statement Set to submit."),
    ],
)
def test_a_statement_that_fails_says_why_when_it_is_fetched(
    gateway: GatewayUser, statement: str, said: str
) -> None:
    text = gateway.failure(statement)
    assert text.startswith("Internal server error.\n<Exception on server side:\n")
    assert said in text
    assert gateway.rows("SHOW CATALOGS") == [["default_catalog"]]


def test_a_streaming_query_is_fetched_while_it_runs_and_ends_when_it_is_closed(gateway: GatewayUser) -> None:
    gateway.run(ENDLESS)
    operation = gateway.submit("SELECT n FROM endless")
    page = gateway.first_page(operation)
    assert page["isQueryResult"] is True
    job = find_job(page["jobID"])
    seen = 0
    token = 0
    while seen < 150:
        page = gateway.page(operation, token)
        assert page["resultType"] == "PAYLOAD"
        seen += len(page["results"]["data"])
        token = int(page["nextResultUri"].split("/result/")[1].split("?")[0])
    assert job.status().name == "RUNNING"
    assert gateway.call("DELETE", gateway.path(operation, "/close")) == {"status": "CLOSED"}
    assert find_job(job.job_id).status().name == "CANCELED"
    until(lambda: "sql-gateway-result" not in gateway_threads(), "the end of the thread that reads")
    gateway.call("GET", gateway.path(operation, "/status"), 500)


def test_a_changelog_has_kinds(gateway: GatewayUser) -> None:
    gateway.run("SET 'penstock.changelog.detail' = 'every-change'")
    operation = gateway.submit("SELECT a, COUNT(*) n FROM (VALUES (1), (1), (2)) t(a) GROUP BY a")
    rows = [(r["kind"], *r["fields"]) for p in gateway.pages(operation) for r in p["results"]["data"]]
    assert sorted(rows) == [
        ("INSERT", 1, 1), ("INSERT", 2, 1), ("UPDATE_AFTER", 1, 2), ("UPDATE_BEFORE", 1, 1),
    ]  # fmt: skip


def test_an_insert_gives_its_job_which_outlives_the_session(gateway: GatewayUser) -> None:
    gateway.run(ENDLESS, BLACKHOLE)
    operation = gateway.submit("INSERT INTO hole SELECT n FROM endless")
    page = gateway.first_page(operation)
    assert page["results"]["data"] == [{"kind": "INSERT", "fields": [page["jobID"]]}]
    assert page["results"]["columns"][0]["name"] == "job id"
    assert (page["isQueryResult"], page["resultKind"]) == (False, "SUCCESS_WITH_CONTENT")
    gateway.call("DELETE", f"/sessions/{gateway.session}")
    job = find_job(page["jobID"])
    assert job.status().name == "RUNNING"
    job.cancel()


def test_a_statement_set_is_one_job(gateway: GatewayUser, tmp_path: pathlib.Path) -> None:
    gateway.run(
        f"CREATE TABLE sink (a INT) WITH ('connector'='filesystem','path'='{tmp_path}','format'='csv')"
    )
    gateway.run("SET 'table.dml-sync' = 'true'", "BEGIN STATEMENT SET")
    gateway.run("INSERT INTO sink VALUES (1)")
    assert "Only 'INSERT/CREATE TABLE AS' statement is allowed" in gateway.failure("SHOW TABLES")
    gateway.run("INSERT INTO sink VALUES (2)")
    [[job]] = gateway.rows("END")
    assert find_job(job).status().name == "FINISHED"
    written = [line for p in tmp_path.rglob("part-*") for line in p.read_text().split()]
    assert sorted(written) == ["1", "2"]
    gateway.run("BEGIN STATEMENT SET", "END")


def test_a_synchronous_insert_is_cancelled_with_its_operation(gateway: GatewayUser) -> None:
    gateway.run(ENDLESS, BLACKHOLE, "SET 'table.dml-sync' = 'true'")
    before = {job.job_id for job in _jobs()}
    operation = gateway.submit("INSERT INTO hole SELECT n FROM endless")
    [job] = until(lambda: [j for j in _jobs() if j.job_id not in before], "the job")
    assert gateway.page(operation)["resultType"] == "NOT_READY"
    assert gateway.call("POST", gateway.path(operation, "/cancel")) == {"status": "CANCELED"}
    assert find_job(job.job_id).status().name == "CANCELED"
    assert "in CANCELED status" in gateway.page(operation, status=500)["errors"][1]
    assert (
        "from CANCELED to CANCELED"
        in gateway.call("POST", gateway.path(operation, "/cancel"), 500)["errors"][1]
    )
    assert gateway.rows("SHOW CATALOGS") == [["default_catalog"]]


def test_closing_a_session_ends_its_queries(gateway: GatewayUser) -> None:
    gateway.run(ENDLESS)
    pages = [gateway.first_page(gateway.submit("SELECT n FROM endless")) for _ in range(2)]
    gateway.call("DELETE", f"/sessions/{gateway.session}")
    assert [find_job(page["jobID"]).status().name for page in pages] == ["CANCELED"] * 2


def test_a_gateway_that_stops_ends_queries_and_threads(gateway: GatewayUser) -> None:
    gateway.run(ENDLESS)
    page = gateway.first_page(gateway.submit("SELECT n FROM endless"))
    gateway.http.__exit__(None, None, None)
    assert find_job(page["jobID"]).status().name == "CANCELED"
    until(lambda: not gateway_threads(), "the end of the gateway's threads")
    gateway.http.__enter__()
    assert "being stopped" in gateway.call("POST", "/sessions", 500)["errors"][1]


def test_nobody_waits_for_a_client_that_does_not_fetch(gateway: GatewayUser) -> None:
    """The reader stops at its limit, and closing wakes it."""
    gateway.run("CREATE TABLE many (n BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '20000')")
    operation = gateway.submit("SELECT n FROM many")
    pages = until(lambda: gateway.service.session(gateway.session).operation(operation).pages, "pages")
    until(lambda: len(pages._waiting) >= 5000, "a full buffer")
    assert len(pages._waiting) == 5000
    sizes = [len(p["results"]["data"]) for p in gateway.pages(operation)]
    assert sum(sizes) == 20000
    assert max(sizes) <= 5000


def test_many_clients_fetch_at_once_and_each_row_is_in_one_page(gateway: GatewayUser) -> None:
    gateway.run("CREATE TABLE many (n BIGINT) WITH ('connector'='datagen','number-of-rows'='3000',"
                "'fields.n.kind'='sequence','fields.n.start'='1','fields.n.end'='3000')")  # fmt: skip
    operation = gateway.submit("SELECT n FROM many")
    gateway.first_page(operation)
    seen: dict[int, list[int]] = {}

    def fetch() -> None:
        token = 0
        while True:
            answer = gateway.http.get(f"/v2{gateway.path(operation, f'/result/{token}')}").json()
            if "errors" in answer:  # another one was faster by two pages
                token += 1
                continue
            if answer["resultType"] == "EOS":
                return
            seen[token] = [row["fields"][0] for row in answer["results"]["data"]]
            token += 1

    threads = [threading.Thread(target=fetch) for _ in range(4)]
    [t.start() for t in threads]
    [t.join(60) for t in threads]
    first = gateway.page(operation, 0, status=500) if len(seen) > 2 else None
    assert first is None or "Expecting token" in first["errors"][1]
    numbers = [n for token in sorted(seen) for n in seen[token]]
    assert len(numbers) == len(set(numbers))


def test_sessions_that_nobody_uses_are_closed() -> None:
    options = {"sql-gateway.session.idle-timeout": "50 ms", "sql-gateway.session.check-interval": "10 ms"}
    with GatewayUser(GatewayService(options, lambda: None)) as user:
        session = user.open()
        until(lambda: user.service.session_count == 0, "the end of the idle session")
        user.call("POST", f"/sessions/{session}/heartbeat", 500)


def test_a_gateway_whose_threads_are_busy_refuses_work() -> None:
    options = {"sql-gateway.worker.threads.max": "1", "sql-gateway.worker.threads.min": "1"}
    with GatewayUser(GatewayService(options, lambda: None)) as user:
        held, go_on = threading.Event(), threading.Event()

        def hold() -> None:
            held.set()
            go_on.wait(60)

        user.service._pool.submit(hold)
        assert held.wait(60)
        body = {"statement": "SHOW TABLES"}
        errors = user.call("POST", f"/sessions/{user.session}/statements", 500, body=body)["errors"]
        assert "all 1 threads are busy" in errors[1]
        go_on.set()
        until(lambda: user.service._pool._idle == 1, "a free thread")
        assert user.rows("SHOW CATALOGS") == [["default_catalog"]]


def _jobs() -> list:
    from penstock.runtime.job_list import list_jobs

    return [job for job in list_jobs() if job.status().name == "RUNNING"]


def test_jobs_are_shown_described_and_stopped(gateway: GatewayUser) -> None:
    gateway.run(ENDLESS, BLACKHOLE)
    [[job]] = gateway.rows("INSERT INTO hole SELECT n FROM endless")
    [shown] = [row for row in gateway.rows("SHOW JOBS") if row[0] == job]
    assert shown[1:3] == ["insert-into_default_catalog.default_database.hole", "RUNNING"]
    assert gateway.rows(f"DESCRIBE JOB '{job}'") == [shown]
    gateway.run(f"STOP JOB '{job}'")
    assert gateway.rows(f"DESCRIBE JOB '{job}'")[0][2] == "CANCELED"
    assert "does not exist here" in gateway.failure("STOP JOB 'nobody'")
