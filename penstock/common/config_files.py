"""The configuration that a process starts with, and where each value comes from.

Later ones win:

    1. config.yaml in the folder that FLINK_CONF_DIR names, then in PENSTOCK_CONF_DIR's (or -c's): nested keys or
       dotted ones. A flink-conf.yaml of Flink 1.x is read where there is no config.yaml.
    2. environment variables: FLINK_PROPERTIES and PENSTOCK_PROPERTIES, lines of `key: value`
    3. environment variables that are keys (FLIP-161): FLINK_CONFIG_EXECUTION_CHECKPOINTING_SAVEPOINT__DIR and
       PENSTOCK_CONFIG_..., an underscore for a dot, two for a hyphen
    4. -D key=value

A reference `${NAME}` in a file is replaced by the environment variable of that name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.common.configuration import Configuration
from penstock.common.errors import MissingDependencyError, ValidationError

__all__ = ["LoadedConfiguration", "load_configuration"]

_NAMES = ("config.yaml", "flink-conf.yaml")
_FOLDERS = ("FLINK_CONF_DIR", "PENSTOCK_CONF_DIR")
_PROPERTIES = ("FLINK_PROPERTIES", "PENSTOCK_PROPERTIES")
_PREFIXES = ("FLINK_CONFIG_", "PENSTOCK_CONFIG_")
_REFERENCE = re.compile(r"\$\{(\w+)\}")


@dataclass
class LoadedConfiguration:
    """Keys and values, and the origin of each."""

    values: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    def put(self, key: str, value: str, origin: str) -> None:
        """Sets a value and remembers where it came from; the last one counts."""
        self.values[key] = value
        self.origins[key] = origin

    def configuration(self) -> Configuration:
        """All values as a `Configuration`."""
        return Configuration.from_dict(self.values)


def load_configuration(
    settings: Sequence[str] = (), folder: str | None = None, environment: Mapping[str, str] | None = None
) -> LoadedConfiguration:
    """Everything that is said about the configuration from outside a program.

    Args:
        settings: `key=value`, as -D gives them.
        folder: Read instead of the folders that environment variables name.
        environment: `os.environ` unless a test says otherwise.

    Raises:
        ValidationError: A folder or a file is not there or not readable as configuration.
    """
    variables = os.environ if environment is None else environment
    loaded = LoadedConfiguration()
    folders = [folder] if folder else [variables[name] for name in _FOLDERS if variables.get(name)]
    for each in folders:
        for key, value, origin in _from_folder(each, variables):
            loaded.put(key, value, origin)
    for name in _PROPERTIES:
        for key, value in _lines(variables.get(name, ""), f"environment variable {name}"):
            loaded.put(key, value, name)
    for name, value in variables.items():
        for prefix in _PREFIXES:
            if name.startswith(prefix) and len(name) > len(prefix):
                loaded.put(key_of(name.removeprefix(prefix)), value, name)
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator:
            raise ValidationError(f"'{setting}' is not of the form key=value", do="write -D key=value")
        loaded.put(key.strip(), value.strip(), "command line")
    return loaded


def key_of(name: str) -> str:
    """
    >>> key_of("EXECUTION_CHECKPOINTING_SAVEPOINT__DIR")
    'execution.checkpointing.savepoint-dir'
    """
    return name.replace("__", "-").replace("_", ".").lower()


def _from_folder(folder: str, variables: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    if not os.path.isdir(folder):
        raise ValidationError(
            f"there is no configuration folder {folder}",
            do="create it, or unset FLINK_CONF_DIR, PENSTOCK_CONF_DIR",
        )
    for name in _NAMES:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            for key, value in _from_file(path):
                yield key, _resolved(value, variables, path), path
            return


def _from_file(path: str) -> Iterator[tuple[str, str]]:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if os.path.basename(path) == "flink-conf.yaml":
        yield from _lines(text, path)
        return
    try:
        import yaml
    except ImportError as error:
        raise MissingDependencyError(f"{path} needs a reader of YAML", do="pip install pyyaml") from error
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValidationError(f"{path} is not YAML: {error}") from error
    if content is None:
        return
    if not isinstance(content, dict):
        raise ValidationError(f"{path} has no keys", do="write key: value")
    yield from _flattened("", content)


def _flattened(prefix: str, content: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    """
    >>> list(_flattened("", {"a": {"b": 1, "c.d": [1, "x"]}, "e": True}))
    [('a.b', '1'), ('a.c.d', '1;x'), ('e', 'true')]
    """
    for name, value in content.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict):
            yield from _flattened(f"{key}.", value)
        else:
            yield key, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ";".join(_text(each) for each in value)
    return "" if value is None else str(value)


def _lines(text: str, where: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, separator, value = line.partition(":")
        if not separator:
            raise ValidationError(f"not a setting: {line!r}", where=where, do="write key: value")
        yield key.strip(), value.strip()


def _resolved(value: str, variables: Mapping[str, str], path: str) -> str:
    def replaced(match: re.Match[str]) -> str:
        if match[1] not in variables:
            raise ValidationError(f"there is no environment variable {match[1]}", where=path)
        return variables[match[1]]

    return _REFERENCE.sub(replaced, value)
