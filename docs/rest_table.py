"""Writes the table of paths in docs/rest_api.md from the table of routes; a test sees to it that they agree."""

from __future__ import annotations

import pathlib

from penstock.rest.routes import ROUTES, Route

PAGE = pathlib.Path(__file__).parent / "rest_api.md"
BEGIN, END = "<!-- routes -->", "<!-- end of routes -->"


def table() -> str:
    served = [_row(route) for route in ROUTES if route.reason is None]
    missing = [f"| {r.method} | `{r.path}` | {r.reason} |" for r in ROUTES if r.reason is not None]
    return "\n".join(
        [
            "| | path | query and body |", "| --- | --- | --- |", *served, "",
            "These answer 404 and say why:", "",
            "| | path | not supported, because |", "| --- | --- | --- |", *missing,
        ]
    )  # fmt: skip


def _row(route: Route) -> str:
    takes = [f"`{name}`" for name in route.query]
    takes += [f"`{name}` in the body" for name in route.body or ()]
    mark = " (ours)" if route.ours else ""
    return f"| {route.method} | `{route.path}`{mark} | {', '.join(takes)} |"


def page(text: str) -> str:
    """The page with its table made anew."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
