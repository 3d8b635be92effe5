"""What processes started inside the gate write."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from penstock.cli.sql.stderr_gate import StderrGate


def test_lines_pass_until_the_gate_is_muted() -> None:
    gate = StderrGate()
    read_end, write_end = os.pipe()
    shown, target = os.pipe()
    thread = threading.Thread(target=gate._pass_on, args=(read_end, target))
    thread.start()
    os.write(write_end, b"before")
    assert os.read(shown, 100) == b"before"
    gate.mute()
    os.write(write_end, b"cancelled")
    os.close(write_end)
    thread.join(10)
    os.close(target)
    assert os.read(shown, 100) == b""
    os.close(shown)


def test_a_process_started_with_it_writes_to_our_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    gate = StderrGate().open()
    program = [sys.executable, "-c", "import sys; sys.stderr.write('from a worker')"]
    subprocess.run(program, check=True, stderr=gate)
    os.close(gate)
    seen, deadline = "", time.monotonic() + 10
    while "from a worker" not in seen and time.monotonic() < deadline:
        seen += capfd.readouterr().err
    assert seen == "from a worker"
    os.write(2, b"ours")
    assert capfd.readouterr().err == "ours"
