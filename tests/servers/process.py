"""A server as a child of the test run."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

_START_S = 240
_STOP_S = 20


def is_ci() -> bool:
    return os.environ.get("CI", "").lower() == "true"


def find_program(name: str, package: str, folders: Sequence[str] = ()) -> str:
    """The path of a server's program. On CI its package is installed if need be; elsewhere the test is skipped."""
    found = _program(name, folders)
    if found is None and is_ci():
        _install(package)
        found = _program(name, folders)
        assert found, f"package {package} is installed and has no program {name}"
    if found is None:
        pytest.skip(f"there is no {name} here: apt-get install -y {package}")
    return found


def _program(name: str, folders: Sequence[str]) -> str | None:
    newest_first = sorted(
        (str(f) for pattern in folders for f in pathlib.Path("/").glob(pattern)), reverse=True
    )
    places = os.pathsep.join([*newest_first, os.environ.get("PATH", ""), "/usr/sbin"])
    return shutil.which(name, path=places)


@contextlib.contextmanager
def packages_locked() -> Iterator[None]:
    """One test run at a time fetches packages: parts of `make test` run side by side, and apt-get does not wait."""
    place = pathlib.Path(tempfile.gettempdir()) / f"penstock-packages-{os.getuid()}.lock"
    with place.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install(package: str) -> None:
    """RUNLEVEL=1 keeps the package from starting a service."""
    with packages_locked():
        _install_now(package)


def _install_now(package: str) -> None:
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    apt = [*([] if os.geteuid() == 0 else ["sudo", "-n", "-E"]), "apt-get", "-o", "DPkg::Lock::Timeout=120"]
    command = [*apt, "install", "-y", "--no-install-recommends", package]
    done = subprocess.run(command, env=quiet, capture_output=True, text=True, timeout=300)
    if done.returncode:
        subprocess.run([*apt, "update"], env=quiet, capture_output=True, timeout=300)
        done = subprocess.run(command, env=quiet, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ServerProcess:
    """A folder and, once started, the process that serves from it; both go with `stop`.

    Servers refuse to be root, so for root they are run as `user`, or as nobody where that one does not exist.
    """

    def __init__(self, name: str, user: str) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"penstock-{name}-", dir="/tmp"))
        self.log = self.folder / "server.log"
        self.port = free_port()
        self._name = name
        self._user = _existing(user) if os.geteuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None
        self.hand_over(self.folder)

    def hand_over(self, path: pathlib.Path) -> None:
        """Makes the server's user the owner of a file of ours."""
        if self._user is not None:
            shutil.chown(path, self._user)

    def run(self, *command: str) -> None:
        """A program that prepares the folder."""
        done = subprocess.run(
            command, user=self._user, cwd=self.folder, capture_output=True, text=True, timeout=_START_S
        )
        if done.returncode:
            self.stop()
            raise RuntimeError(f"{command[0]} failed:\n{done.stdout}\n{done.stderr}")

    def start(
        self, *command: str, ready: Callable[[], object], environment: Mapping[str, str] | None = None
    ) -> None:
        """Starts the server and waits until `ready` does not raise any more."""
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command, user=self._user, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
            )  # fmt: skip
        deadline = time.monotonic() + _START_S
        while True:
            try:
                ready()
                return
            except Exception as error:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    said = self.log.read_text(errors="replace")[-2000:]
                    self.stop()
                    raise RuntimeError(f"{self._name} did not start: {error}\n{said}") from error
            time.sleep(0.1)

    def kill(self) -> None:
        """SIGKILL; the folder stays, and `start` goes on with it."""
        assert self._process is not None, "start comes first"
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT if self._name == "postgres" else signal.SIGTERM)
            try:
                self._process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _existing(user: str) -> str:
    try:
        return pwd.getpwnam(user).pw_name
    except KeyError:
        return "nobody"
