"""Programs in processes of their own, seen and steered through one server. They run without Spark here."""

from __future__ import annotations

import os
import pathlib
import signal
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from penstock.common.configuration import Configuration
from penstock.common.errors import JobExecutionError, ValidationError
from penstock.rest.session.cluster import Session, read_description
from tests.rest.jobs import wait_for
from tests.rest.programs import ENDLESS, TWO_JOBS, on_spark


def make_session(folder: pathlib.Path, **settings: str) -> Session:
    conf = Configuration.from_dict({"rest.port": "0", "parallelism.default": "1", **settings})
    return Session(conf, str(folder), None).start()


@pytest.fixture
def program(tmp_path: pathlib.Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(ENDLESS)
    return str(path)


@pytest.fixture
def session(tmp_path: pathlib.Path) -> Iterator[Session]:
    made = make_session(tmp_path / "session", **{"web.submit.enable": "true"})
    yield made
    made.end(cancel_jobs=True)
    made.close()


def getter(session: Session) -> Callable[[str], Any]:
    assert session.server is not None
    url = session.server.url
    return lambda path: httpx.get(url + path, timeout=30).json()


def launch(session: Session, path: str, *arguments: str, **settings: str) -> str:
    assert session.programs is not None
    return session.programs.launch(path, arguments, settings)


def pid_of(session: Session) -> int:
    assert session.programs is not None
    (process,) = session.programs._processes.values()
    return process.popen.pid


def test_a_program_runs_in_a_process_of_its_own_and_is_steered_through_the_server(
    session: Session, program: str, tmp_path: pathlib.Path
) -> None:
    get = getter(session)
    job = launch(session, program, "a")
    assert pid_of(session) != os.getpid()
    wait_for(lambda: get(f"/jobs/{job}/checkpoints")["counts"]["completed"] > 0)
    details = get(f"/jobs/{job}")
    assert details["name"] == "endless a" and details["state"] == "RUNNING" and len(details["vertices"]) == 2
    assert get("/overview")["jobs-running"] == 1
    path = f"/jobs/{job}"
    assert session.server is not None
    answer = httpx.post(session.server.url + path + "/stop", json={"targetDirectory": str(tmp_path / "sp")})
    trigger = answer.json()["request-id"]
    done = wait_for(lambda: (s := get(f"{path}/savepoints/{trigger}"))["status"]["id"] == "COMPLETED" and s)
    assert "location" in done["operation"], done
    assert pathlib.Path(done["operation"]["location"]).is_dir()
    assert get(f"{path}/status")["status"] == "FINISHED"
    assert session.programs is not None
    wait_for(lambda: not session.programs._processes)  # type: ignore[union-attr]


def test_the_epochs_of_a_program_are_lines_of_its_log_if_it_is_asked_for(
    session: Session, program: str
) -> None:
    job = launch(session, program, **{"penstock.log.epochs": "true"})
    assert session.programs is not None
    (process,) = session.programs._processes.values()
    log = pathlib.Path(session.programs._folder.log_of(process.record.id))
    wait_for(lambda: f" INFO penstock.epochs [job {job}] epoch=2 " in log.read_text())


def test_a_program_that_fails_tells_why_and_disturbs_nobody(session: Session, program: str) -> None:
    get = getter(session)
    other = launch(session, program)
    bad = pathlib.Path(program).with_name("bad.py")
    bad.write_text("# no pyspark\nraise RuntimeError('nothing to run')\n")
    with pytest.raises(JobExecutionError, match="nothing to run"):
        launch(session, str(bad))
    with pytest.raises(ValidationError, match="no program"):
        launch(session, "/nowhere.py")
    assert get(f"/jobs/{other}/status")["status"] == "RUNNING"


def test_the_job_of_a_killed_program_has_failed_if_it_has_no_checkpoints(
    session: Session, program: str
) -> None:
    get = getter(session)
    job = launch(session, program)
    os.kill(pid_of(session), signal.SIGKILL)
    wait_for(lambda: get(f"/jobs/{job}/status") == {"status": "FAILED"})
    assert "SIGKILL" in get(f"/jobs/{job}/exceptions")["root-exception"]
    assert get("/jobs/overview")["jobs"][0]["state"] == "FAILED"


def test_a_killed_program_with_checkpoints_goes_on_under_its_id(
    session: Session, program: str, tmp_path: pathlib.Path
) -> None:
    get = getter(session)
    job = launch(session, program, **{"execution.checkpointing.dir": str(tmp_path / "chk")})
    wait_for(lambda: get(f"/jobs/{job}/checkpoints")["counts"]["completed"] >= 3)
    os.kill(pid_of(session), signal.SIGKILL)
    wait_for(lambda: get(f"/jobs/{job}/checkpoints").get("counts", {}).get("restored") == 1)
    assert get(f"/jobs/{job}")["state"] == "RUNNING"


def test_a_killed_program_goes_on_with_its_second_job(session: Session, tmp_path: pathlib.Path) -> None:
    get = getter(session)
    two = tmp_path / "two.py"
    two.write_text(TWO_JOBS)
    first = launch(session, str(two), **{"execution.checkpointing.dir": str(tmp_path / "chk")})
    second = wait_for(lambda: next((j["id"] for j in get("/jobs")["jobs"] if j["status"] == "RUNNING"), None))
    assert second != first
    wait_for(lambda: get(f"/jobs/{second}/checkpoints")["counts"]["completed"] >= 3)
    os.kill(pid_of(session), signal.SIGKILL)
    wait_for(lambda: get(f"/jobs/{second}/checkpoints").get("counts", {}).get("restored") == 1)
    assert get(f"/jobs/{second}")["state"] == "RUNNING" and get(f"/jobs/{first}")["state"] == "FINISHED"


def test_the_job_of_a_killed_program_is_restarting_until_it_runs_again(
    session: Session, program: str, tmp_path: pathlib.Path
) -> None:
    get = getter(session)
    job = launch(session, program, **{"execution.checkpointing.dir": str(tmp_path / "chk")})
    os.kill(pid_of(session), signal.SIGKILL)
    wait_for(lambda: get(f"/jobs/{job}/status") == {"status": "RESTARTING"})
    details = get(f"/jobs/{job}")
    assert details["state"] == "RESTARTING" and details["end-time"] == -1 and len(details["vertices"]) == 2
    assert {vertex["status"] for vertex in details["vertices"]} == {"SCHEDULED"}
    assert get("/jobs/overview")["jobs"][0]["state"] == "RESTARTING" and get("/overview")["jobs-running"] == 1
    assert "SIGKILL" in get(f"/jobs/{job}/exceptions")["root-exception"]
    assert get(f"/jobs/{job}/execution-result") == {"status": {"id": "IN_PROGRESS"}}
    assert get(f"/jobs/{job}/config")["jid"] == job
    seen = set()
    wait_for(lambda: seen.add(state := get(f"/jobs/{job}/status").get("status")) or state == "RUNNING")
    assert seen == {"RESTARTING", "RUNNING"}
    (entry,) = get(f"/jobs/{job}/exceptions")["exceptionHistory"]["entries"]
    assert "SIGKILL" in entry["stacktrace"]
    restarts = get(f"/jobs/{job}/metrics?get=numRestarts,fullRestarts")
    assert [each["value"] for each in restarts] == ["1", "1"]


def test_a_job_that_is_restarting_is_cancelled_when_it_runs_again(
    session: Session, program: str, tmp_path: pathlib.Path
) -> None:
    get = getter(session)
    job = launch(session, program, **{"execution.checkpointing.dir": str(tmp_path / "chk")})
    os.kill(pid_of(session), signal.SIGKILL)
    wait_for(lambda: get(f"/jobs/{job}/status") == {"status": "RESTARTING"})
    assert session.server is not None
    url = f"{session.server.url}/jobs/{job}"
    trigger = httpx.post(f"{url}/savepoints", json={"target-directory": str(tmp_path)}).json()["request-id"]
    failed = wait_for(lambda: get(f"/jobs/{job}/savepoints/{trigger}").get("operation"))
    assert "being restarted" in failed["failure-cause"]["stack-trace"]
    assert httpx.patch(url).status_code == 202
    wait_for(lambda: get(f"/jobs/{job}/status") == {"status": "CANCELED"})


def test_a_session_that_cancels_its_jobs_cancels_those_that_are_restarting(
    program: str, tmp_path: pathlib.Path
) -> None:
    session = make_session(tmp_path / "session")
    get = getter(session)
    job = launch(session, program, **{"execution.checkpointing.dir": str(tmp_path / "chk")})
    os.kill(pid_of(session), signal.SIGKILL)
    wait_for(lambda: get(f"/jobs/{job}/status") == {"status": "RESTARTING"})
    session.end(cancel_jobs=True)
    session.close()
    after = make_session(tmp_path / "session")
    assert getter(after)(f"/jobs/{job}/status") == {"status": "CANCELED"}
    after.close()


def test_a_program_that_is_killed_again_and_again_is_given_up(
    session: Session, program: str, tmp_path: pathlib.Path
) -> None:
    get = getter(session)
    text = pathlib.Path(program).read_text()
    dies = "import os, pathlib\nif pathlib.Path('started').exists(): os.kill(os.getpid(), 9)\n"
    pathlib.Path(program).write_text(text.replace("import sys\n", f"import sys\n{dies}"))
    job = launch(session, program, **{"execution.checkpointing.dir": str(tmp_path / "chk")})
    (tmp_path / "session" / "started").touch()
    os.kill(pid_of(session), signal.SIGKILL)
    wait_for(lambda: get(f"/jobs/{job}/status") == {"status": "FAILED"})
    entries = get(f"/jobs/{job}/exceptions")["exceptionHistory"]["entries"]
    assert len(entries) == 4 and "before its job ran again" in entries[0]["stacktrace"]
    assert not list((tmp_path / "session" / "programs").iterdir())
    (tmp_path / "session" / "started").unlink()
    again = launch(session, program, **{"execution.checkpointing.dir": str(tmp_path / "chk")})
    assert again != job and get(f"/jobs/{job}/status") == {"status": "FAILED"}


def test_a_run_after_one_that_was_stopped_is_another_job(
    session: Session, program: str, tmp_path: pathlib.Path
) -> None:
    get = getter(session)
    settings = {"execution.checkpointing.dir": str(tmp_path / "chk")}
    first = launch(session, program, **settings)
    wait_for(lambda: get(f"/jobs/{first}/checkpoints")["counts"]["completed"] > 0)
    path = session.programs._directory.find(first).stop_with_savepoint(str(tmp_path / "sp"), drain=False)  # type: ignore[union-attr]
    wait_for(lambda: get(f"/jobs/{first}/status") == {"status": "FINISHED"})
    second = launch(session, program, **settings, **{"execution.state-recovery.path": path})
    assert second != first
    assert {each["id"]: each["status"] for each in get("/jobs")["jobs"]} == {
        second: "RUNNING",
        first: "FINISHED",
    }
    assert {each.name for each in (tmp_path / "session" / "archives").iterdir()} == {first}


def test_a_session_that_is_started_again_goes_on_with_its_jobs(program: str, tmp_path: pathlib.Path) -> None:
    first = make_session(tmp_path / "session")
    settings = {"execution.checkpointing.dir": str(tmp_path / "chk")}
    job = launch(first, program, **settings)
    get = getter(first)
    wait_for(lambda: get(f"/jobs/{job}/checkpoints")["counts"]["completed"] >= 3)
    first.close()
    assert read_description(str(tmp_path / "session")) is None
    second = make_session(tmp_path / "session")
    try:
        get = getter(second)
        assert get(f"/jobs/{job}")["state"] in ("RESTARTING", "RUNNING")
        wait_for(lambda: get(f"/jobs/{job}")["state"] == "RUNNING")
        assert get(f"/jobs/{job}/checkpoints")["latest"]["restored"]["id"] >= 3
    finally:
        second.end(cancel_jobs=True)
        second.close()
    third = make_session(tmp_path / "session")
    try:
        assert getter(third)(f"/jobs/{job}")["state"] == "CANCELED"
    finally:
        third.close()


def test_two_sessions_cannot_share_a_folder(session: Session, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValidationError, match="a session runs already, at http"):
        make_session(tmp_path / "session")


def test_a_program_is_uploaded_run_and_deleted(session: Session, program: str) -> None:
    assert session.server is not None
    with httpx.Client(base_url=session.server.url, timeout=120) as client, open(program, "rb") as file:
        stored = client.post("/jars/upload", files={"jarfile": ("../../evil name.py", file)}).json()
        assert stored["status"] == "success" and "/session/uploads/" in stored["filename"]
        (listed,) = client.get("/jars").json()["files"]
        assert listed["name"] == "evil_name.py"
        body = {"programArgsList": ["x"], "parallelism": 2, "jobId": "ab" * 16}
        assert client.post(f"/jars/{listed['id']}/run", json=body).json()["jobid"] == "ab" * 16
        assert client.get(f"/jobs/{'ab' * 16}").json()["vertices"][0]["parallelism"] == 2
        planned = client.post(f"/jars/{listed['id']}/plan", json={"parallelism": 3}).json()["plan"]
        assert [node["parallelism"] for node in planned["nodes"]] == [3, 3] and len(planned["nodes"]) == 2
        wrong = client.post(f"/jars/{listed['id']}/run", json={"programArgs": "'not closed"})
        assert wrong.status_code == 400 and "programArgs" in wrong.json()["errors"][0]
        assert client.delete(f"/jars/{listed['id']}").status_code == 200
        assert client.get("/jars").json()["files"] == []
        assert client.post(f"/jars/{listed['id']}/run", json={}).status_code == 404
        refused = client.post("/jars/upload", files={"jarfile": ("job.jar", b"PK")})
        assert refused.status_code == 400 and "Python programs" in refused.json()["errors"][0]


def test_the_job_of_a_program_that_was_deleted_goes_on_in_the_next_session(
    program: str, tmp_path: pathlib.Path
) -> None:
    first = make_session(tmp_path / "session", **{"web.submit.enable": "true"})
    assert first.server is not None
    with httpx.Client(base_url=first.server.url, timeout=120) as client, open(program, "rb") as file:
        client.post("/jars/upload", files={"jarfile": ("program.py", file)})
        (listed,) = client.get("/jars").json()["files"]
        body = {"flinkConfiguration": {"execution.checkpointing.dir": str(tmp_path / "chk")}}
        job = client.post(f"/jars/{listed['id']}/run", json=body).json()["jobid"]
        assert client.delete(f"/jars/{listed['id']}").status_code == 200
    first.close()
    second = make_session(tmp_path / "session")
    try:
        wait_for(lambda: getter(second)(f"/jobs/{job}/status") == {"status": "RUNNING"})
    finally:
        second.end(cancel_jobs=True)
        second.close()
    wait_for(lambda: not list((tmp_path / "session" / "programs").iterdir()))


@pytest.mark.parametrize(
    "change", [os.unlink, lambda path: pathlib.Path(path).write_text("# no pyspark\n1 / 0\n")]
)
def test_the_job_of_a_program_that_cannot_be_started_again_has_failed(
    program: str, tmp_path: pathlib.Path, change: Callable[[str], object]
) -> None:
    first = make_session(tmp_path / "session")
    job = launch(first, program)
    first.close()
    change(program)
    second = make_session(tmp_path / "session")
    get = getter(second)
    wait_for(lambda: get(f"/jobs/{job}/status") == {"status": "FAILED"})
    reason = get(f"/jobs/{job}/exceptions")["root-exception"]
    assert "there is no program" in reason or "division by zero" in reason
    second.close()
    third = make_session(tmp_path / "session")
    assert getter(third)(f"/jobs/{job}/status") == {"status": "FAILED"}
    third.close()


@pytest.mark.spark
def test_programs_of_a_session_share_its_spark_application(tmp_path: pathlib.Path) -> None:
    from penstock.rest.session.spark import forget_spark_jobs, start_spark

    path = tmp_path / "program.py"
    path.write_text(on_spark(ENDLESS))
    conf = Configuration.from_dict({"rest.port": "0", "parallelism.default": "1"})
    session = Session(conf, str(tmp_path / "session"), start_spark, forget_spark_jobs).start()
    try:
        get = getter(session)
        jobs = [launch(session, str(path), name) for name in ("a", "b")]
        for job in jobs:
            wait_for(lambda j=job: get(f"/jobs/{j}/checkpoints")["counts"]["completed"] >= 2, 300)
        assert get("/overview")["taskmanagers"] >= 1
        assert session.server is not None
        httpx.patch(f"{session.server.url}/jobs/{jobs[0]}")
        wait_for(lambda: get(f"/jobs/{jobs[0]}/status") == {"status": "CANCELED"})
        before = get(f"/jobs/{jobs[1]}/checkpoints")["counts"]["completed"]
        wait_for(lambda: get(f"/jobs/{jobs[1]}/checkpoints")["counts"]["completed"] > before)
    finally:
        session.end(cancel_jobs=True)
        session.close()


def test_a_session_answers_for_the_sql_gateway_too(tmp_path: pathlib.Path) -> None:
    from penstock.gateway import GatewayService, gateway_routes

    gateway = GatewayService({}, prepare=lambda: None)
    conf = Configuration.from_dict({"rest.port": "0"})
    session = Session(conf, str(tmp_path / "session"), None, extra=gateway_routes(gateway)).start()
    try:
        assert session.server is not None
        get = getter(session)
        assert get("/v1/info")["productName"] == "Penstock"
        opened = httpx.post(session.server.url + "/v1/sessions", json={}, timeout=30).json()
        assert get(f"/v1/sessions/{opened['sessionHandle']}")["properties"]
        assert get("/v1/overview")["jobs-running"] == 0, "paths of the job server are as ever"
    finally:
        gateway.close()
        session.end()
        session.close()
