"""What a script defines itself goes to other processes, and comes back after the script was started anew."""

from __future__ import annotations

import enum
import pathlib
import subprocess
import sys

import cloudpickle
import pytest

from penstock.common.codecs import compile_codec
from penstock.common.errors import StateError

SCRIPT = """
import dataclasses, pathlib, sys
from penstock.common.codecs import compile_codec

@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: str
    {method}

untyped = compile_codec(None)
folder = pathlib.Path(sys.argv[1])
"""
WRITE = """
point = Point(1, "a")
(folder / "key").write_bytes(untyped.encode_key(point))
(folder / "value").write_bytes(untyped.encode([point, point]))
(folder / "batch").write_bytes(untyped.encode_batch([point]))
assert type(untyped.decode(untyped.encode_key(point))) is Point
assert type(untyped.decode(untyped.encode([point]))[0]) is Point
"""
READ = """
old_key = (folder / "key").read_bytes()
assert untyped.encode_key(Point(1, "a")) == old_key
assert untyped.decode(old_key).added() == "new"
one, two = untyped.decode((folder / "value").read_bytes())
assert one is two and one == Point(1, "a") and one.added() == "new"
"""


def run(script: str, folder: pathlib.Path) -> None:
    file = folder / "script.py"
    file.write_text(script)
    done = subprocess.run([sys.executable, str(file), str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def written(tmp_path: pathlib.Path) -> pathlib.Path:
    run(SCRIPT.format(method="") + WRITE, tmp_path)
    return tmp_path


def test_state_comes_back_as_the_class_that_the_script_has_now(written: pathlib.Path) -> None:
    run(SCRIPT.format(method="added = lambda self: 'new'") + READ, written)


def test_a_process_without_the_class_gets_its_code(written: pathlib.Path) -> None:
    untyped = compile_codec(None)
    [point] = untyped.decode_batch((written / "batch").read_bytes())
    assert (point.x, point.y) == (1, "a") and type(point).__module__ == "__main__"


def test_a_key_whose_class_nobody_knows_says_what_to_do(written: pathlib.Path) -> None:
    data = (written / "key").read_bytes().replace(b"Point", b"Paint")
    with pytest.raises(StateError, match=r"no class __main__\.Paint is known"):
        compile_codec(None).decode(data)


def test_classes_that_came_with_a_job_are_the_ones_that_values_get() -> None:
    class Local:
        def __init__(self) -> None:
            self.n = 1

    untyped = compile_codec(None)
    shipped = cloudpickle.loads(cloudpickle.dumps(Local))
    assert shipped is Local  # cloudpickle knows what it sent itself
    assert type(untyped.decode_batch(untyped.encode_batch([Local()]))[0]) is Local
    assert type(untyped.decode(untyped.encode(Local()))) is Local


def test_functions_and_enums_of_a_script_travel_too() -> None:
    class Color(enum.Enum):
        RED = 1

    def double(x: int) -> int:
        return 2 * x

    untyped = compile_codec(None)
    function, color = untyped.decode(untyped.encode([double, Color.RED]))
    assert function(4) == 8 and color is Color.RED
    assert untyped.decode(untyped.encode_key(Color.RED)) is Color.RED


def test_cyclic_values_are_pickled_with_their_cycle() -> None:
    loop: list[object] = []
    loop.append(loop)
    untyped = compile_codec(None)
    for data in (untyped.encode(loop), untyped.encode_key(loop)):
        back = untyped.decode(data)
        assert back[0] is back
