"""Imports point down the layers, and what needs no engine does not import one."""

from __future__ import annotations

import ast
import pathlib
import re

PACKAGE = pathlib.Path(__file__).parent.parent / "penstock"

# Top to bottom; packages of one row may use each other.
LAYERS = [
    {"cli", "gateway", "notebook"},
    {"rest"},
    {"web"},
    {"table"},
    {"sql"},
    {"cep"},
    {"datastream"},
    {"state_processor"},
    {"testing"},
    {"runtime"},
    {"graph"},
    {"operators", "delta"},
    {"functions", "windowing"},
    {"state", "checkpoint"},
    {"connectors", "formats"},
    {"catalog"},
    {"common", "metrics", "util", "version"},
]
RANK = {name: i for i, names in enumerate(LAYERS) for name in names}

WITHOUT_SPARK = (
    "common", "metrics", "catalog", "connectors", "formats", "state", "checkpoint", "functions", "windowing",
    "operators", "delta", "graph",
)  # fmt: skip


def imports(path: pathlib.Path) -> list[tuple[str, bool]]:
    """Modules a file imports; True for those at module level, outside TYPE_CHECKING."""
    tree = ast.parse(path.read_text())
    top: set[ast.AST] = set()
    for node in tree.body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        top.update(ast.walk(node) if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) else ())
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.append((node.module, node in top))
        elif isinstance(node, ast.Import):
            found.extend((alias.name, node in top) for alias in node.names)
    return found


def imported_names(path: pathlib.Path) -> list[str]:
    """Modules a file imports anywhere, also as names of a package: `from penstock.connectors import print`."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return found


def test_imports_point_down() -> None:
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for module, at_top in imports(path):
            parts = module.split(".")
            if parts[0] != "penstock" or len(parts) < 2 or not at_top:
                continue
            other = parts[1]
            if other in RANK and own in RANK and RANK[other] < RANK[own]:
                wrong.append(f"{path.relative_to(PACKAGE)} imports {module}")
    assert not wrong, "\n".join(wrong)


def test_what_needs_no_engine_does_not_import_spark() -> None:
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] in WITHOUT_SPARK:
            wrong += [
                f"{path.relative_to(PACKAGE)} imports {module}"
                for module, _ in imports(path)
                if module.split(".")[0] in ("pyspark", "py4j")
            ]
    assert not wrong, "\n".join(wrong)


ENGINE_ROOMS = (
    "runtime", "graph", "operators", "delta", "functions", "windowing", "state", "checkpoint", "sql/streaming",
    "sql/plan",
)  # fmt: skip
CONNECTOR_CONTRACT = {"table", "registry", "rows", "source", "sink", "lookup", "row_types"}


def test_the_engine_knows_the_contract_of_connectors_but_no_system() -> None:
    """What the engine cannot do with a connector of another package, it does not do with one of ours."""
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).as_posix().startswith(tuple(f"{room}/" for room in ENGINE_ROOMS)):
            wrong += [
                f"{path.relative_to(PACKAGE)} imports {module}"
                for module in imported_names(path)
                if module.startswith("penstock.connectors.")
                and module.split(".")[2] not in CONNECTOR_CONTRACT
            ]
    assert not wrong, "\n".join(wrong)


def test_there_are_systems_that_the_engine_could_name() -> None:
    """The rule above would hold for an empty folder too."""
    systems = {path.name for path in (PACKAGE / "connectors").iterdir() if path.is_dir()}
    assert {"filesystem", "jdbc", "print", "datagen", "blackhole", "file", "socket"} <= systems
    files = {path.stem for path in (PACKAGE / "connectors").glob("*.py")}
    assert files >= CONNECTOR_CONTRACT


SPARK_INTERNALS = re.compile(
    r"\b_jvm\b|\b_jsc\b|\b_jsparkSession\b|\b_jdf\b|\b_jrdd\b|\b_gateway\b|\b_active_spark_context\b"
    r"|org[./]apache[./]spark"
)


def test_what_spark_does_not_promise_is_used_in_one_place() -> None:
    """Under runtime/spark/ each use has a name and, in tests/runtime/test_spark_internals.py, a test."""
    found = [
        f"{path.relative_to(PACKAGE)}: {match[0]}"
        for path in PACKAGE.rglob("*.py")
        if path.parent != PACKAGE / "runtime" / "spark"
        for match in SPARK_INTERNALS.finditer(path.read_text())
    ]
    assert not found, "\n".join(found)
