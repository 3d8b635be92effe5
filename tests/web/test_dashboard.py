"""The dashboard in a real browser, over a server that pretends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.browser import Browser
from tests.web.fake_server import FAILED, RUNNING, FakeServer


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = Browser()
    yield found
    found.close()


@pytest.fixture
def server() -> Iterator[FakeServer]:
    found = FakeServer()
    yield found
    found.close()


@pytest.fixture(autouse=True)
def quiet_console(browser: Browser, server: FakeServer) -> Iterator[None]:
    """Nothing goes wrong unseen; the page is left before its server goes."""
    browser.complaints()
    yield
    told = browser.complaints()
    browser.open("about:blank")
    assert told == []


def test_the_overview_lists_running_and_ended_jobs(browser: Browser, server: FakeServer) -> None:
    browser.open(server.url)
    browser.wait_for_text("insert-into_revenue", "main")
    text = browser.text("main")
    assert "15 of 16 in use" in text and "nightly import" in text and "backfill 2026-10" in text
    browser.click("a", "insert-into_revenue")
    browser.wait_for(lambda: browser.count(".vertex") == 6, "six vertices")


def test_the_graph_shows_load_and_flow_and_opens_a_vertexs_subtasks(
    browser: Browser, server: FakeServer
) -> None:
    browser.open(f"{server.url}/#/job/{RUNNING}")
    browser.wait_for_text("% busy", ".graph")
    assert browser.count("path.edge") == 6
    assert "behind" in browser.text(".graph") and "none yet" in browser.text(".graph")
    browser.click(".vertex", "enrich")
    browser.wait_for_text("Records in", ".drawer")
    assert browser.count(".drawer table:first-of-type tbody tr") >= 4
    browser.wait_for_text("Sample of its rows", ".drawer")


def test_vertices_of_the_graph_do_not_overlap(browser: Browser, server: FakeServer) -> None:
    browser.open(f"{server.url}/#/job/{RUNNING}")
    browser.wait_for(lambda: browser.count(".vertex") == 6, "six vertices")
    boxes = browser.run(
        "return [...document.querySelectorAll('.vertex')].map(e => "
        "[e.offsetLeft, e.offsetTop, e.offsetLeft + e.offsetWidth, e.offsetTop + e.offsetHeight])"
    )
    for i, (left, top, right, bottom) in enumerate(boxes):
        for a, b, c, d in boxes[i + 1 :]:
            assert c <= left or right <= a or d <= top or bottom <= b, boxes


def test_what_data_says_is_never_run_as_html(browser: Browser, server: FakeServer) -> None:
    browser.open(f"{server.url}/#/job/{RUNNING}")
    browser.click(".vertex", "onerror")
    browser.wait_for_text("Sample of its rows", ".drawer")
    assert "<img src=x" in browser.text(".drawer")
    assert browser.count("main img") == 0
    assert browser.run("return document.body.dataset.owned ?? null") is None


def test_a_refresh_keeps_elements_focus_and_what_is_open(browser: Browser, server: FakeServer) -> None:
    browser.open(f"{server.url}/#/job/{RUNNING}")
    browser.wait_for_text("% busy", ".graph")
    browser.run("window.mine = document.querySelector('.vertex'); window.mine.focus()")
    before = browser.text(".graph")
    browser.wait_for(lambda: browser.text(".graph") != before, "numbers that move")
    assert browser.run("return document.activeElement === window.mine && window.mine.isConnected")


def test_epochs_show_what_their_time_was_spent_on(browser: Browser, server: FakeServer) -> None:
    browser.open(f"{server.url}/#/job/{RUNNING}/epochs")
    browser.wait_for_text("Median length", "main")
    assert browser.count(".chart .column") == 60
    assert "committing" in browser.text("main")


def test_a_checkpoint_opens_down_to_its_subtasks(browser: Browser, server: FakeServer) -> None:
    browser.open(f"{server.url}/#/job/{RUNNING}/checkpoints")
    browser.wait_for_text("History", "main")
    browser.click("tr.pickable", "115")
    browser.wait_for_text("Checkpoint 115", "main")
    browser.click("tr.pickable", "enrich")
    browser.wait_for_text("Subtasks of enrich", "main")


def test_a_failed_job_shows_the_users_traceback(browser: Browser, server: FakeServer) -> None:
    browser.open(f"{server.url}/#/job/{FAILED}/exceptions")
    browser.wait_for_text('File "jobs/orders.py", line 41, in parse', "details[open] pre")
    assert "could not convert string to float" in browser.text("details[open] summary")
    assert browser.count(".actions button") == 0


def test_metrics_are_drawn_and_can_be_filtered(browser: Browser, server: FakeServer) -> None:
    browser.open(f"{server.url}/#/job/{RUNNING}/metrics")
    browser.wait_for(lambda: browser.count(".chart polyline") > 0, "a line")
    browser.type("input[type=search]", "watermark")
    browser.wait_for(lambda: browser.count(".choice") == 1, "one choice")
    browser.click(".choice", "currentInputWatermark")
    browser.wait_for_text("currentInputWatermark", ".charts")


def test_skew_late_records_and_dead_letters_are_told(browser: Browser, server: FakeServer) -> None:
    browser.open(f"{server.url}/#/job/{RUNNING}/records")
    browser.wait_for_text("skew 75 %", "main")
    assert "s3://lake/dead" in browser.text("main")


def test_a_job_of_sql_shows_statement_plan_and_changelog_mode(browser: Browser, server: FakeServer) -> None:
    browser.open(f"{server.url}/#/job/{RUNNING}/sql")
    browser.wait_for_text("INSERT INTO revenue", "main")
    assert "WindowAggregate" in browser.text("main") and "Changelog mode" in browser.text("main")


def test_a_job_is_cancelled_only_after_a_confirmation(browser: Browser, server: FakeServer) -> None:
    browser.open(f"{server.url}/#/job/{RUNNING}")
    browser.click("button", "Cancel…")
    browser.wait_for_text("without a savepoint", "dialog")
    browser.click("dialog button", "Go back")
    browser.wait_for(lambda: browser.count("dialog") == 0, "no dialog")
    assert server.state.calls == []
    browser.click("button", "Cancel…")
    browser.click("dialog button", "Cancel job")
    browser.wait_for_text("canceled", "h1")
    assert server.state.calls == [("PATCH", f"/jobs/{RUNNING}?mode=cancel", None)]


def test_a_savepoint_goes_where_it_is_told_to(browser: Browser, server: FakeServer) -> None:
    browser.open(f"{server.url}/#/job/{RUNNING}")
    browser.click("button", "Savepoint…")
    browser.wait_for(lambda: browser.count("dialog input") == 1, "a dialog")
    browser.type("dialog input", "/my/place")
    browser.click("dialog button", "Take savepoint")
    browser.wait_for_text("Savepoint: /my/place/savepoint-a1a1a1", "#toasts")


def test_a_server_that_is_gone_is_told_and_the_page_comes_back_with_it(browser: Browser) -> None:
    server = FakeServer()
    browser.open(server.url)
    browser.wait_for_text("insert-into_revenue", "main")
    port = int(server.url.rpartition(":")[2])
    server.close()
    browser.wait_for_text("Connection lost", "#connection")
    assert "insert-into_revenue" in browser.text("main")
    again = FakeServer(port)
    browser.wait_for(lambda: "Connection lost" not in browser.text("#connection"), "the server again")
    browser.complaints()  # of requests while nobody was there
    again.close()


def test_an_unknown_job_is_told_with_a_way_back(browser: Browser, server: FakeServer) -> None:
    browser.open(f"{server.url}/#/job/nonsense")
    browser.wait_for_text("There is no such thing here", "main")
    browser.complaints()  # the 404 itself
    browser.click("main a", "All jobs")
    browser.wait_for_text("insert-into_revenue", "main")


def test_the_theme_is_switched_and_kept(browser: Browser, server: FakeServer) -> None:
    browser.open(server.url)
    browser.wait_for_text("insert-into_revenue", "main")
    ground = "return getComputedStyle(document.documentElement).backgroundColor"
    assert browser.run(ground) == "rgb(246, 247, 248)"
    browser.click("#theme")
    browser.click("#theme")
    assert browser.run(ground) == "rgb(16, 21, 26)"
    browser.open(f"{server.url}/?again")
    assert browser.run(ground) == "rgb(16, 21, 26)"
    browser.click("#theme")
