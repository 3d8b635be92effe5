"""JSON paths: what they find, and when nothing there is an error."""

from __future__ import annotations

import pytest

from penstock.sql.functions.json_documents import query, read
from penstock.sql.functions.json_paths import PathError, path_of

SHOP = read(
    '{"a": {"b": 1}, "items": [{"p": 5, "n": "k"}, {"p": 10, "n": "m"}, {"n": "z"}], "x.y": 7, "d": [1, 2, 3]}'
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$.a.b", 1),
        ("a.b", 1),
        ("$['x.y']", 7),
        ("$['x.y','d']", {"x.y": 7, "d": [1, 2, 3]}),
        ("$.d[-1]", 3),
        ("$.d[0,2]", [1, 3]),
        ("$.d[1:]", [2, 3]),
        ("$.d[-2:-1]", [2]),
        ("$.items[*].p", [5, 10]),
        ("$..n", ["k", "m", "z"]),
        ("$.items[?(@.p > 5)].n", ["m"]),
        ("$.items[?(@.p)].n", ["k", "m"]),
        ("$.items[?(!(@.p) || @.n =~ /K/i)].n", ["k", "z"]),
        ("$.items[?(@.n in ['k', 'z'])].n", ["k", "z"]),
        ("$.d[?(@ > $.a.b)]", [2, 3]),
        ("$.items.length()", 3),
        ("$.d.min()", 1.0),
    ],
)
def test_a_path_finds_what_it_names(path: str, expected: object) -> None:
    assert path_of(path).read(SHOP) == expected


@pytest.mark.parametrize(
    "path", ["$.a.nope", "$.nope[*].p", "$.a[0]", "$.a.b[?(@.c)]", "$.a.b.max()", "$.d[9]"]
)
def test_below_definite_steps_nothing_may_be_missing(path: str) -> None:
    with pytest.raises(PathError):
        path_of(path).read(SHOP)


@pytest.mark.parametrize("path", ["", "$a", "$.", '$."x y"', "$.items[last]", "$.d[?(@ ~ 1)]"])
def test_a_text_that_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(PathError):
        path_of(path)


def test_a_lax_path_finds_nothing_where_a_strict_one_fails() -> None:
    assert query('{"a": 1}', "lax $.b") == (True, None)
    assert query('{"a": 1}', "lax $.b[*].c") == (True, [])
    assert query("no json", "lax $.b") == (True, None)
    with pytest.raises(ValueError, match="nothing"):
        query('{"a": 1}', "strict $.b")
    with pytest.raises(ValueError, match="null"):
        query('{"a": null}', "$.a")


def test_what_stands_behind_a_document_is_not_looked_at() -> None:
    assert read("1 2") == 1
    with pytest.raises(ValueError, match="behind"):
        read("1x")
