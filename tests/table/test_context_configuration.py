"""What the command line says reaches programs that only make a TableEnvironment."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.common.configuration import Configuration
from penstock.datastream.context import set_context_configuration
from penstock.table import EnvironmentSettings, TableEnvironment


@pytest.fixture(autouse=True)
def given() -> Iterator[None]:
    set_context_configuration(
        Configuration.from_dict({"parallelism.default": "3", "execution.runtime-mode": "BATCH"})
    )
    yield
    set_context_configuration(None)


def test_a_table_environment_starts_from_the_settings_of_the_command_line() -> None:
    table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    assert table_env.get_config().get("parallelism.default", "") == "3"
    assert table_env.get_config().get("execution.runtime-mode", "") != "BATCH"


def test_what_the_program_says_itself_wins() -> None:
    own = Configuration.from_dict({"parallelism.default": "5"})
    settings = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(own).build()
    assert TableEnvironment.create(settings).get_config().get("parallelism.default", "") == "5"
