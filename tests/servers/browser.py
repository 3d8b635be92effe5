"""Debian's Chromium without a window, driven over the WebDriver protocol by plain HTTP."""

from __future__ import annotations

import base64
import json
import pathlib
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

from tests.servers.process import find_program, free_port

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_CLICKS = 5
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip


class Browser:
    """One window. Texts are what people see; `wait_for` asks until something is true, or says what was there."""

    def __init__(self, width: int = 1360, height: int = 900) -> None:
        chromium = find_program("chromium", "chromium")
        driver = find_program("chromedriver", "chromium-driver")
        port = free_port()
        self._folder = tempfile.TemporaryDirectory(prefix="penstock-browser-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._base = f"http://127.0.0.1:{port}"
        self._ready()
        options = {
            "binary": chromium,
            "args": [*_FLAGS, f"--user-data-dir={self._folder.name}", f"--window-size={width},{height}"],
        }
        wanted = {
            "capabilities": {
                "alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            }
        }
        self._session = f"/session/{self._call('POST', '/session', wanted)['sessionId']}"

    def _ready(self) -> None:
        deadline = time.monotonic() + 30
        while True:
            try:
                if self._call("GET", "/status")["ready"]:
                    return
            except OSError:
                assert self._process.poll() is None, "chromedriver ended"
            assert time.monotonic() < deadline, "chromedriver does not answer"
            time.sleep(0.05)

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        data = json.dumps(body if body is not None else {}).encode() if method == "POST" else None
        request = urllib.request.Request(
            self._base + path, data=data, method=method, headers={"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.read().decode()[:500]}") from None

    def open(self, url: str) -> None:
        self._call("POST", f"{self._session}/url", {"url": url})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a function's body in the page; promises are waited for."""
        return self._call(
            "POST", f"{self._session}/execute/sync", {"script": script, "args": list(arguments)}
        )

    def text(self, selector: str = "body") -> str:
        found = self.run(
            "const e = document.querySelector(arguments[0]); return e ? e.innerText : ''", selector
        )
        return str(found)

    def count(self, selector: str) -> int:
        return int(self.run("return document.querySelectorAll(arguments[0]).length", selector))

    def click(self, selector: str, text: str = "") -> None:
        """A click as people do it, on the first element that has the text."""
        script = "return [...document.querySelectorAll(arguments[0])].find(e => e.innerText.includes(arguments[1]))"
        self.wait_for(
            lambda: self.run(script.replace("return", "return !!"), selector, text), f"{selector} {text}"
        )
        for attempt in range(_CLICKS):
            element = self.run(script, selector, text)[_ELEMENT]
            try:
                self._call("POST", f"{self._session}/element/{element}/click")
                return
            except AssertionError as error:  # the page was drawn anew in between: people would click again
                if "stale element" not in str(error) or attempt == _CLICKS - 1:
                    raise

    def type(self, selector: str, text: str) -> None:
        element = self.run("return document.querySelector(arguments[0])", selector)[_ELEMENT]
        self._call("POST", f"{self._session}/element/{element}/value", {"text": text})

    def wait_for(self, condition: Callable[[], Any], what: str, seconds: float = 30) -> Any:
        deadline = time.monotonic() + seconds
        while True:
            found = condition()
            if found:
                return found
            assert time.monotonic() < deadline, f"not seen: {what}\n--- the page says:\n{self.text()}"
            time.sleep(0.05)

    def wait_for_text(self, text: str, selector: str = "body", seconds: float = 30) -> None:
        self.wait_for(lambda: text in self.text(selector), f"{text!r} in {selector}", seconds)

    def complaints(self) -> list[str]:
        """Errors that the page has written to the console since the last call."""
        entries = self._call("POST", f"{self._session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def resize(self, width: int, height: int) -> None:
        self._call("POST", f"{self._session}/window/rect", {"width": width, "height": height})

    def screenshot(self, path: pathlib.Path | str) -> None:
        png = base64.b64decode(self._call("GET", f"{self._session}/screenshot"))
        pathlib.Path(path).write_bytes(png)

    def close(self) -> None:
        try:
            self._call("DELETE", self._session)
        finally:
            self._process.terminate()
            self._process.wait(20)
            self._folder.cleanup()
