"""The files of the dashboard, and the headers they are handed out with."""

from __future__ import annotations

from penstock.web import asset
from penstock.web.files import _assets


def test_scripts_come_from_the_server_only_and_a_changed_file_has_another_name() -> None:
    page = asset("/")
    assert page is not None
    headers = page.headers()
    assert headers["Content-Security-Policy"].startswith("default-src 'self'")
    assert headers["Cache-Control"] == "no-cache" and headers["ETag"].startswith('"')
    assert asset("/js/main.js") is not None
    assert asset("/../files.py") is None and asset("/js/../../files.py") is None


def test_no_file_reaches_out_or_parses_data_as_html() -> None:
    assert len(_assets()) > 15
    for path, file in _assets().items():
        text = file.content.decode()
        assert "innerHTML" not in text and "outerHTML" not in text and "insertAdjacentHTML" not in text, path
        addresses = text.replace("http://www.w3.org/", "")
        assert "http://" not in addresses and "https://" not in addresses and "//cdn" not in addresses, path
