"""One answer serves all who ask within a moment, and nobody reads what his own request has made old."""

from __future__ import annotations

import asyncio

import pytest
from starlette.responses import Response

from penstock.rest.kept_answers import KEPT_SECONDS, KeptAnswers

KEY = ("/overview", b"")


class Source:
    """Numbers its answers."""

    def __init__(self) -> None:
        self.version, self.now, self.made, self.status = 0, 0.0, 0, 200
        self.kept = KeptAnswers(lambda: self.version, lambda: self.now)
        self.gate = asyncio.Event()
        self.gate.set()

    async def make(self) -> Response:
        self.made += 1
        number = self.made
        await self.gate.wait()
        return Response(str(number), self.status)

    async def ask(self, key: tuple[str, bytes] = KEY) -> str:
        return bytes((await self.kept.ask(key, self.make)).body).decode()


def test_an_answer_is_kept_for_a_moment_and_made_again_after_it() -> None:
    async def body() -> None:
        source = Source()
        assert [await source.ask(), await source.ask(), await source.ask(("/overview", b"x=1"))] == [
            "1",
            "1",
            "2",
        ]
        assert source.kept.find(KEY) is not None
        source.now = KEPT_SECONDS
        assert source.kept.find(KEY) is None and await source.ask() == "3"

    asyncio.run(body())


def test_a_change_makes_all_answers_old_also_those_that_are_under_way() -> None:
    async def body() -> None:
        source = Source()
        source.gate.clear()
        before = asyncio.ensure_future(source.ask())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        source.version += 1
        after = asyncio.ensure_future(source.ask())
        await asyncio.sleep(0)
        source.gate.set()
        assert (await before, await after) == ("1", "2")
        assert await source.ask() == "2"

    asyncio.run(body())


def test_those_who_ask_at_the_same_time_wait_for_one_answer_also_if_the_first_goes_away() -> None:
    async def body() -> None:
        source = Source()
        source.gate.clear()
        first, second = (asyncio.ensure_future(source.ask()) for _ in range(2))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        source.gate.set()
        assert await second == "1" and source.made == 1

    asyncio.run(body())


def test_errors_are_not_kept() -> None:
    async def body() -> None:
        source = Source()
        source.status = 404
        assert [await source.ask(), await source.ask()] == ["1", "2"]

    asyncio.run(body())
