"""Wheel and source distribution: built from the tree, the same inside, and all that an empty environment needs."""

from __future__ import annotations

import pathlib
import site
import subprocess
import sys
import tarfile
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, pathlib.Path]:
    """A wheel, and a source distribution."""
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    folder = tmp_path_factory.mktemp("dist")
    wheel = next(WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"]))
    source = next(SdistBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"]))
    return pathlib.Path(wheel), pathlib.Path(source)


def modules(names: list[str]) -> set[str]:
    return {name for name in names if name.startswith("penstock/") and not name.endswith("/")}


def test_both_hold_the_same_package(built: tuple[pathlib.Path, pathlib.Path]) -> None:
    wheel, source = built
    with zipfile.ZipFile(wheel) as packed, tarfile.open(source) as tar:
        in_wheel = modules(packed.namelist())
        in_source = modules([member.name.split("/", 1)[-1] for member in tar.getmembers()])
    assert in_wheel == in_source
    assert {"penstock/py.typed", "penstock/common/options.txt", "penstock/cli/main.py"} <= in_wheel


def test_an_environment_with_the_wheel_alone_runs_the_command_line(
    built: tuple[pathlib.Path, pathlib.Path], tmp_path: pathlib.Path
) -> None:
    """What penstock depends on is taken from here; penstock itself, with its data files, only from the wheel."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "empty"], cwd=tmp_path, check=True)
    python = tmp_path / "empty" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--disable-pip-version-check", str(built[0])], check=True)
    (home,) = (tmp_path / "empty" / "lib").glob("python*/site-packages")
    (home / "needed.pth").write_text("\n".join(site.getsitepackages()))
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    told = subprocess.run(
        [str(tmp_path / "empty" / "bin" / "penstock"), "version"], env=clean, capture_output=True, text=True
    )
    assert told.stdout.startswith("penstock "), told.stderr
    program = "import penstock.datastream, penstock.common.options as o; print(o.__file__, o.known_keys()[0])"
    done = subprocess.run(
        [str(python), "-c", program], env=clean, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.split() == [
        str(home / "penstock" / "common" / "options.py"),
        "execution.epoch.target",
    ], done.stderr
