"""Programs that were uploaded: kept as files under names of ours, outside everything that Python imports from.

A name that a client sends is only ever shown. What is stored is `<uuid>_<safe name>`, only `.py` and `.zip`, so no
path that a client makes up leads anywhere. Nothing of a file is read, unpacked or imported before it is run.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.rest.messages import RestError

__all__ = ["Launcher", "Program", "Uploads"]

_ID = re.compile(r"^[0-9a-f]{32}_[\w.-]{1,100}\.(py|zip)$")


class Launcher(Protocol):
    """Runs programs; `session/` has the one there is."""

    def launch_copy(self, path: str, arguments: Sequence[str], settings: Mapping[str, str]) -> str:
        """Starts a program and returns the id of its first job, once that runs. The file may go then."""

    def plan(self, path: str, arguments: Sequence[str], settings: Mapping[str, str]) -> dict[str, Any]:
        """The plan of a program's first job, which is not started."""


@dataclass(frozen=True)
class Program:
    id: str
    name: str
    path: str
    uploaded_ms: int


class Uploads:
    """The programs in one folder."""

    def __init__(self, folder: str, launcher: Launcher) -> None:
        self._folder = folder
        self._launcher = launcher
        os.makedirs(folder, mode=0o700, exist_ok=True)

    def add(self, name: str, content: bytes) -> Program:
        base = os.path.basename(name.replace("\\", "/"))
        safe = re.sub(r"[^\w.-]", "_", base, flags=re.ASCII)[-100:].lstrip(".")
        if not re.search(r".\.(py|zip)$", safe):
            raise RestError(400, "Only Python programs (.py, or .zip with a __main__.py) are allowed.")
        program_id = f"{uuid.uuid4().hex}_{safe}"
        path = os.path.join(self._folder, program_id)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        found = self.find(program_id)
        assert found is not None
        return found

    def listed(self) -> list[Program]:
        found = [self.find(name) for name in sorted(os.listdir(self._folder))]
        return sorted((each for each in found if each is not None), key=lambda each: -each.uploaded_ms)

    def find(self, program_id: str) -> Program | None:
        if _ID.match(program_id) is None:
            return None
        path = os.path.join(self._folder, program_id)
        try:
            uploaded = os.stat(path).st_mtime
        except OSError:
            return None
        return Program(program_id, program_id[33:], path, int(uploaded * 1000))

    def delete(self, program: Program) -> None:
        os.unlink(program.path)

    def run(self, program: Program, arguments: Sequence[str], settings: Mapping[str, str]) -> str:
        return self._launcher.launch_copy(program.path, arguments, settings)

    def plan(self, program: Program, arguments: Sequence[str], settings: Mapping[str, str]) -> dict[str, Any]:
        return self._launcher.plan(program.path, arguments, settings)
