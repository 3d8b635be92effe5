"""What programs bring along: found, installed, unpacked, and importable in another process."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

from penstock.common.errors import MissingDependencyError, ValidationError
from penstock.common.pickling import ship
from penstock.common.surroundings import Surroundings, here, surround
from penstock.runtime import dependencies
from penstock.runtime.dependencies import collect_dependencies

WORKER = """
import pickle, sys
surroundings, code = pickle.loads(sys.stdin.buffer.read())
surroundings.enter()
print(pickle.loads(code)())
"""


@pytest.fixture(autouse=True)
def nothing_brought():
    yield
    surround(Surroundings())


def in_another_process(function, folder: pathlib.Path) -> str:
    """What a worker prints that gets `function`; it starts in another folder and knows no paths of ours."""
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", WORKER], input=ship(function), capture_output=True, cwd=folder, env=environment
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def test_a_file_a_folder_and_a_zip_can_be_imported(tmp_path):
    (tmp_path / "alone.py").write_text("from pyflink.common import Row\nA = 1\n")
    (tmp_path / "neighbour.py").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inside.py").write_text("B = 2\n")
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        packed.writestr("zipped.py", "C = 3\n")
    listed = ",".join(str(tmp_path / name) for name in ("alone.py", "folder", "packed.zip"))
    collect_dependencies({"python.files": listed})

    def use():
        import importlib.util

        import alone
        import inside
        import zipped

        return alone.A + inside.B + zipped.C, importlib.util.find_spec("neighbour")

    from penstock.common.pyflink_alias import install_pyflink_alias

    install_pyflink_alias()
    assert in_another_process(use, tmp_path.parent) == "(6, None)"


@pytest.mark.parametrize("form", ["zip", "tar", "gztar"])
def test_archives_are_unpacked_where_the_function_stands(tmp_path, form):
    (tmp_path / "content").mkdir()
    (tmp_path / "content" / "data.txt").write_text("42")
    archive = shutil.make_archive(str(tmp_path / "packed"), form, tmp_path / "content")
    collect_dependencies({"python.archives": f"{archive}#data,{archive}"})
    name = pathlib.Path(archive).name

    def use():
        return open("data/data.txt").read(), open(f"{name}/data.txt").read()

    assert in_another_process(use, tmp_path) == "('42', '42')"


def test_the_driver_keeps_its_working_directory(tmp_path):
    (tmp_path / "content").mkdir()
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "content")
    collect_dependencies({"python.archives": archive})
    before = os.getcwd()
    here().enter()
    assert os.getcwd() == before


def package(folder: pathlib.Path, name: str) -> None:
    """A wheel in a folder of downloads."""
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", "V = 7\n")
        info = f"{name}-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def test_requirements_are_installed_from_downloads(tmp_path):
    package(tmp_path, "penstock_test_requirement")
    (tmp_path / "r.txt").write_text("penstock_test_requirement==1.0  # a comment\npyarrow\n")
    collect_dependencies({"python.requirements": f"{tmp_path / 'r.txt'}#{tmp_path}"})

    def use():
        import penstock_test_requirement

        return penstock_test_requirement.V

    assert in_another_process(use, tmp_path) == "7"


def test_requirements_that_are_here_are_not_installed_again(tmp_path, monkeypatch):
    (tmp_path / "r.txt").write_text("pyarrow\n\n# nothing\n")
    monkeypatch.setattr(dependencies, "_install", lambda *_: pytest.fail("installed"))
    collect_dependencies({"python.requirements": str(tmp_path / "r.txt")})
    assert here().packages is None


def test_requirements_that_cannot_be_installed_are_refused(tmp_path):
    (tmp_path / "r.txt").write_text("penstock-no-such-package\n")
    with pytest.raises(MissingDependencyError, match="penstock-no-such-package"):
        collect_dependencies({"python.requirements": f"{tmp_path / 'r.txt'}#{tmp_path}"})


def test_of_two_files_of_a_name_the_later_one_counts(tmp_path):
    for folder, value in (("first", 1), ("second", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same_name.py").write_text(f"VALUE = {value}\n")
    listed = ",".join(str(tmp_path / folder / "same_name.py") for folder in ("first", "second"))
    collect_dependencies({"python.files": listed})

    def use():
        import same_name

        return same_name.VALUE

    assert in_another_process(use, tmp_path) == "2"


def test_files_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(ValidationError, match="there is no file"):
        collect_dependencies({"python.files": str(tmp_path / "gone.py")})
