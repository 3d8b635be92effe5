"""The page of the REST interface lists what there is."""

from __future__ import annotations

import pathlib
import runpy

DOCS = pathlib.Path(__file__).parent.parent.parent / "docs"


def test_the_page_has_the_table_of_the_code() -> None:
    made = runpy.run_path(str(DOCS / "rest_table.py"))
    text = (DOCS / "rest_api.md").read_text()
    assert made["page"](text) == text, "run make docs"
