"""Every name of PyFlink is here, with PyFlink's parameters and defaults.

What cannot work is here too: it raises NotSupportedError when it is used, so that a program learns why. An
AttributeError or a ModuleNotFoundError would only tell it that a name is misspelled.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import pathlib
from typing import Any

import pytest

HERE = pathlib.Path(__file__).parent
INVENTORY = json.loads((HERE / "pyflink_api.json").read_text())
DEFAULTS = json.loads((HERE / "pyflink_defaults.json").read_text())["defaults"]
INDEX = {(e["module"], e["name"]): e for e in INVENTORY["entries"]}
STAR = {module: set(names) for module, names in INVENTORY["star"].items()}
MODULES = sorted({e["module"] for e in INVENTORY["entries"]})


def _tool() -> Any:
    spec = importlib.util.spec_from_file_location("api_parity", HERE / "api_parity.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PARITY = _tool()
SUBJECT = PARITY.Subject("penstock")


@pytest.mark.parametrize("module", MODULES)
def test_every_name_is_there_and_takes_pyflinks_parameters(module: str) -> None:
    entries = [e for e in INVENTORY["entries"] if e["module"] == module]
    found = [item for e in entries for item in PARITY.items(e, INDEX, SUBJECT, STAR)]
    assert found
    assert [f"{label}: {why}" for _, label, why in found if why is not None] == []


def _callable(key: str) -> Any:
    module, name = key.split(":")
    found, why = SUBJECT.find(module, name.removesuffix("()"))
    assert why is None, why
    return found


@pytest.mark.parametrize("module", sorted({key.split(":")[0] for key in DEFAULTS}))
def test_parameters_have_pyflinks_default_values(module: str) -> None:
    differ = []
    for key, wanted in DEFAULTS.items():
        if key.split(":")[0] != module:
            continue
        parameters = inspect.signature(_callable(key)).parameters
        for name, value in wanted.items():
            mine = parameters[name].default if name in parameters else "no such parameter"
            if mine != value and (key, name) not in SAME_MEANING and key not in SAME_MEANING:
                differ.append(f"{key}({name}={value!r}), here {mine!r}")
    assert differ == []


_NO_JAVA = "None stands for a Java object that PyFlink makes of the other arguments"
_RESTART = "common.restart_strategy:RestartStrategies."
_ENVIRONMENT = "datastream.stream_execution_environment:StreamExecutionEnvironment."
_STATISTICS = "table.catalog:Catalog{}Statistics()"
SAME_MEANING: dict[str | tuple[str, str], str] = {
    _RESTART + "FixedDelayRestartStrategyConfiguration()": "Flink's values instead of a failure",
    _RESTART + "FailureRateRestartStrategyConfiguration()": "Flink's values instead of a failure",
    "datastream.checkpoint_storage:FileSystemCheckpointStorage()": "-1 and None: as configured",
    _ENVIRONMENT + "execute_async": "None lets pipeline.name speak",
    "table.catalog:ObjectPath()": _NO_JAVA,
    _STATISTICS.format("Table"): _NO_JAVA,
    _STATISTICS.format("Column"): _NO_JAVA,
}
"""Defaults that are written otherwise and mean the same, with the reason."""
