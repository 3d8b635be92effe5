"""The share of PyFlink's surface that is here never falls.

`floors.json` holds, per module, the percentage of core items (see `api_parity.py`) that must be there. Raise
a floor when the number has grown; lowering one means that programs which ran no longer do.
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
FLOORS = json.loads((HERE / "floors.json").read_text())


@pytest.mark.parametrize("module", sorted(FLOORS))
def test_core_parity_stays_above_its_floor(module: str) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "api_parity.py"), "--module", module, "--tier", "core", "--missing"],
        cwd=HERE.parent.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    measured = re.search(r"= ([\d.]+)%\s*$", done.stdout)
    assert measured, done.stdout
    missing = "\n".join(line for line in done.stdout.splitlines() if line.startswith("- "))
    assert float(measured.group(1)) >= FLOORS[module], (
        f"{module} has {measured.group(1)} %\n{missing[-4000:]}"
    )
