"""What the public packages offer says what it does: classes, functions and methods; overriding ones inherit it."""

from __future__ import annotations

import ast
import importlib
import inspect
import pathlib
import pkgutil
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import penstock

PACKAGES = [
    "penstock.catalog",
    "penstock.cep",
    "penstock.common",
    "penstock.datastream",
    "penstock.functions",
    "penstock.metrics",
    "penstock.state_processor",
    "penstock.table",
    "penstock.testing",
    "penstock.util",
    "penstock.windowing",
]


def public_modules() -> Iterator[str]:
    """The packages that programs import from, and all their modules: those offer what their `__all__` names."""
    for package in PACKAGES:
        yield package
        found = importlib.import_module(package)
        for module in pkgutil.walk_packages(found.__path__, f"{package}."):
            if not any(part.startswith("_") for part in module.name.split(".")):
                yield module.name


def offered() -> Iterator[tuple[str, Any]]:
    """Each public class, function and method once, by its name."""
    seen: set[int] = set()
    for package in public_modules():
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            home = getattr(thing, "__module__", None) or ""
            if id(thing) in seen or not home.startswith("penstock"):
                continue
            seen.add(id(thing))
            if inspect.isclass(thing):
                yield f"{home}.{thing.__qualname__}", thing
                yield from methods(thing)
            elif inspect.isfunction(thing):
                yield f"{home}.{thing.__qualname__}", thing


def methods(owner: type) -> Iterator[tuple[str, Any]]:
    """The public methods of a class, those of its private bases too, and of the classes in it."""
    own = [base for base in reversed(owner.__mro__) if base is owner or base.__name__.startswith("_")]
    for name, member in {name: member for base in own for name, member in vars(base).items()}.items():
        if name.startswith("_"):
            continue
        if inspect.isclass(member):
            if member.__qualname__ == f"{owner.__qualname__}.{name}":
                yield f"{member.__module__}.{member.__qualname__}", member
                yield from methods(member)
            continue
        function = (
            member.fget
            if isinstance(member, property)
            else inspect.unwrap(getattr(member, "__func__", member))
        )
        if inspect.isfunction(function) and function.__module__.startswith("penstock"):
            found = member if isinstance(member, property) else getattr(owner, name)
            yield f"{function.__module__}.{function.__qualname__}", found


def test_what_is_public_says_what_it_does() -> None:
    told = dict(offered())
    silent = [name for name, thing in told.items() if not (inspect.getdoc(thing) or "").strip()]
    assert silent == []
    assert len(told) > 2_500


def test_first_lines_are_sentences() -> None:
    """Help shows the first line alone: it has to be whole."""
    told = {name: (inspect.getdoc(thing) or "").splitlines() for name, thing in offered()}
    cut = [name for name, lines in told.items() if lines and len(lines) > 1 and lines[1].strip()]
    assert cut == []


KNOWN = {"DataFrame", "result", "split", "startswith"}
"""What examples call and is not ours."""


def test_examples_are_python_that_calls_what_there_is() -> None:
    """They are not run, as most would start Spark; but they parse, and no method in them is made up."""
    things = dict(offered())
    sources = pathlib.Path(penstock.__file__).parent.rglob("*.py")
    names = KNOWN | {name for source in sources for name in re.findall(r"def (\w+)", source.read_text())}
    examples = [
        (name, block)
        for name, thing in things.items()
        for block in re.findall(r"```python\n(.*?)```", inspect.getdoc(thing) or "", re.S)
    ]
    wrong = []
    for name, block in examples:
        tree = ast.parse(textwrap.dedent(block))
        made = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        called = {
            node.func.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        wrong += [f"{name}: {call}" for call in called - names - made]
    assert wrong == []
    assert len(examples) > 70
