"""Imports point down the layers, and what needs no engine does not import one."""

from __future__ import annotations

import ast
import pathlib

PACKAGE = pathlib.Path(__file__).parent.parent / "penstock"

# Top to bottom; packages of one row may use each other.
LAYERS = [
    {"cli"},
    {"table"},
    {"sql"},
    {"datastream"},
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
