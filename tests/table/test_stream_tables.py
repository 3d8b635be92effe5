"""What does not go between DataStreams and tables yet says so."""

from __future__ import annotations

import pytest

from penstock.common.errors import NotSupportedError
from penstock.table import StreamTableEnvironment


@pytest.mark.parametrize("name", ["from_changelog_stream", "to_changelog_stream"])
def test_changelogs_between_streams_and_tables_are_refused_with_another_way(name: str) -> None:
    env = StreamTableEnvironment.create()
    with pytest.raises(NotSupportedError, match=f"{name}.*\n*.*separate jobs") as caught:
        getattr(env, name)(object())
    assert "debezium-json" in str(caught.value)
