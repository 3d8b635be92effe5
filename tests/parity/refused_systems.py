"""Writes the modules of systems without a connector: every name of PyFlink's, refused in `build()`.

What they hold follows from the inventory (`pyflink_api.json`, `pyflink_defaults.json`). Four kinds of classes:

    enums, and choices      such as `StartCursor.earliest()`: what was chosen is remembered
    settings                a builder: its methods take what PyFlink's take, and give the builder again
    sources and sinks       cannot be made: `build()` refuses, with the reason, before anything runs
    old functions           such as `FlinkKinesisConsumer(...)`, which refuse where they are made

    python tests/parity/refused_systems.py        writes the modules; a test compares them with what it would write
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

HERE = pathlib.Path(__file__).parent
MODULES = HERE.parents[1] / "penstock" / "datastream" / "connectors"
SYSTEMS = {"cassandra": "Cassandra", "kinesis": "Kinesis", "pulsar": "Pulsar"}
_WITH_GUARANTEES = ("pulsar",)
"""Programs import DeliveryGuarantee from these modules, though its home is another."""
_STARTS = ("builder", "add_sink")
_BASES = {
    "datastream.connectors.base:Sink": "UnsupportedSink",
    "datastream.connectors.base:Source": "UnsupportedSource",
    "datastream.functions:SourceFunction": "SourceFunction",
}

Entry = Mapping[str, Any]


def module_text(system: str) -> str:
    """The source of a system's module."""
    title = SYSTEMS[system]
    entries = {
        e["name"]: e for e in _inventory("pyflink_api")["entries"] if e["module"].endswith(f".{system}")
    }
    body = [line for name, e in _ordered(entries) for line in _class(name, e, entries, system)]
    used = [n for n in ("Choice", "Settings", "UnsupportedSink", "UnsupportedSource", "refuse")
            if any(n in line for line in body)]  # fmt: skip
    names = sorted(
        [
            *(name for name in entries if "." not in name),
            *(["DeliveryGuarantee"] if system in _WITH_GUARANTEES else []),
        ]
    )
    head = [
        f'"""{title}, as PyFlink spells it; refused by `build()`.',
        "",
        "Written by tests/parity/refused_systems.py from the inventory of PyFlink's API: change it there.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        *(["from enum import Enum"] if any("(Enum)" in line for line in body) else []),
        "from typing import Any",
        "",
        *(
            ["from penstock.datastream.connectors.base import DeliveryGuarantee"]
            if system in _WITH_GUARANTEES
            else []
        ),
        f"from penstock.datastream.connectors.unsupported import {', '.join(used)}",
        *(["from penstock.functions.legacy import SourceFunction"] if "SourceFunction" in str(body) else []),
        "",
        f"__all__ = {json.dumps(names)}",
        "",
        f"_BECAUSE = {json.dumps(f'penstock has no client for {title}')}",
    ]
    return "\n".join([*head, *body]) + "\n"


def _inventory(name: str) -> Any:
    return json.loads((HERE / f"{name}.json").read_text())


def _ordered(entries: Mapping[str, Entry]) -> Iterator[tuple[str, Entry]]:
    return ((name, entry) for name, entry in entries.items() if "." not in name)


def _class(name: str, entry: Entry, entries: Mapping[str, Entry], system: str, indent: str = "") -> list[str]:
    own = name.split(".")[-1]
    if entry["kind"] == "enum":
        members = [f"    {member} = {number}" for number, member in enumerate(entry["members"])]
        return ["", "", f"class {own}(Enum):", '    """As PyFlink has it."""', "", *members]
    methods = entry.get("methods", {})
    bases = [_BASES[base] for base in entry.get("bases", ())]
    bases += ["Settings"] if "SourceFunction" in bases else []
    chooses = not bases and any(m.get("kind") == "static" for m in methods.values()) and not _starts(methods)
    lines = ["", "", f"class {own}({', '.join(bases) or ('Choice' if chooses else 'Settings')}):",
             f'    """As PyFlink has it{_of(own)}."""']  # fmt: skip
    if not chooses:
        lines += ["", *_constructor(own, entry, bool(bases) or _starts(methods))]
    for method, described in methods.items():
        defaults = _inventory("pyflink_defaults")["defaults"].get(
            f"datastream.connectors.{system}:{name}.{method}", {}
        )
        lines += ["", *_method(name, method, described, defaults, entries)]
    for inner, nested in entries.items():
        if inner.startswith(f"{name}."):
            lines += _class(inner, nested, entries, system, "    ")
    return [f"{indent}{line}" if line else line for line in lines]


def _of(name: str) -> str:
    return f": settings of a `{name.removesuffix('Builder')}`" if name.endswith("Builder") else ""


def _starts(methods: Mapping[str, Any]) -> bool:
    return any(start in methods for start in _STARTS)


def _constructor(name: str, entry: Entry, refuses: bool) -> list[str]:
    given = entry["ctor"] if isinstance(entry["ctor"], list) else ["j_object="]
    head = f"    def __init__({_parameters(['self', *given], {})}) -> None:"
    return [head, f'        refuse("{name}", _BECAUSE)' if refuses else "        super().__init__()"]


def _method(
    owner: str, name: str, described: Entry, defaults: Mapping[str, Any], entries: Mapping[str, Entry]
) -> list[str]:
    given = described["params"]
    passed = "".join(f", {p.rstrip('=')}" for p in given)
    if described.get("kind") == "static":
        head = ["    @staticmethod", f"    def {name}({_parameters(given, defaults)}) -> "]
        if name in _STARTS:
            builder = next(b for b in (f"{owner}Builder", f"{owner}.{owner}Builder") if b in entries)
            text = '        """Begins the settings; `build()` refuses them."""'
            return [head[0], f"{head[1]}{builder}:", text, f"        return {builder}()"]
        text = '        """A choice that is remembered; what would act on it is refused."""'
        return [head[0], f"{head[1]}{owner}:", text, f'        return {owner}("{name}"{passed})']
    head = f"    def {name}({_parameters(['self', *given], defaults)}) -> "
    if name == "build":
        product = owner.split(".")[-1].removesuffix("Builder")
        text = (
            f'        """Refused: there is no {product} here. NotSupportedError says why, and what to do."""'
        )
        return [f"{head}Any:", text, f'        refuse("{product}", _BECAUSE)']
    text = '        """Remembered, so that programs read and type-check; what is made of it is refused."""'
    return [f"{head}{owner}:", text, f'        return self._set("{name}"{passed or ", True"})']


def _parameters(given: list[str], defaults: Mapping[str, Any]) -> str:
    def one(parameter: str) -> str:
        name = parameter.rstrip("=")
        if name == "self":
            return name
        return f"{name}: Any = {defaults.get(name)!r}" if parameter.endswith("=") else f"{name}: Any"

    return ", ".join(map(one, given))


if __name__ == "__main__":
    for module in SYSTEMS:
        (MODULES / f"{module}.py").write_text(module_text(module))
