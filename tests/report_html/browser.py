"""A headless Chromium driven over its own debugging pipe: no driver program, no library, no port."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--disable-extensions", "--no-default-browser-check", "--remote-debugging-pipe", "--force-color-profile=srgb",
)  # fmt: skip
PATIENCE_S = 60.0


def executable() -> str | None:
    """The browser to test with: ``PLANNER_BROWSER``, or the first of the usual names that is installed."""
    named = os.environ.get("PLANNER_BROWSER")
    return named or next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page of one browser; events that arrive while waiting are kept."""

    def __init__(self, process: subprocess.Popen[bytes], to: int, frm: int) -> None:
        self.process, self._to, self._from = process, to, frm
        self._rest, self._number, self._session = b"", 0, ""
        self.events: list[dict[str, Any]] = []

    def attach(self) -> None:
        """Open a page and listen to what it says and asks for."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command, and its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._from, 1 << 20)
            if not part:
                raise RuntimeError("the browser ended")
            self._rest += part
        one, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(one))

    def run(self, expression: str) -> Any:
        """The value of an expression in the page; promises are awaited."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"])[:600])
        return found["result"].get("value")

    def emulate(self, width: int, height: int = 900, scheme: str = "light", media: str = "") -> None:
        """A screen of that size, a colour scheme, a medium."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def open(self, path: Path) -> None:
        """Load a file and wait until its charts are drawn, or it is loaded where it has none."""
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.until("document.readyState === 'complete' && (!document.querySelector('[data-chart]') "
                   "|| document.documentElement.hasAttribute('data-drawn'))")  # fmt: skip

    def until(self, condition: str) -> None:
        """Wait for a condition in the page."""
        end = time.monotonic() + PATIENCE_S
        while not self.run(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(condition)
            time.sleep(0.02)

    def hover(self, x: float, y: float) -> None:
        """Move the mouse there."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, name: str) -> None:
        """Press and release a key."""
        codes = {"Tab": 9, "Enter": 13}
        text = {"Enter": "\r"}.get(name, "")
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=codes[name],
                      **({"text": text} if text and kind == "keyDown" else {}))  # fmt: skip

    def screenshot(self, path: Path, whole: bool = False, **clip: float) -> None:
        """What is seen, the whole page, or a part of it, as PNG."""
        area = {"clip": clip | {"scale": 1}} if clip else {}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole or bool(clip), **area)
        path.write_bytes(base64.b64decode(data["data"]))

    def pdf(self) -> bytes:
        """The page as printed on A4."""
        data = self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True,
                         printBackground=False)  # fmt: skip
        return base64.b64decode(data["data"])

    def complaints(self) -> list[str]:
        """Everything the console said and every exception nobody caught, refused scripts and styles included."""
        said = []
        for event in self.events:
            details = event.get("params", {})
            if event.get("method") == "Runtime.consoleAPICalled":
                said.append(str(details.get("args")))
            elif event.get("method") == "Runtime.exceptionThrown":
                said.append(str(details["exceptionDetails"].get("exception", details))[:400])
            elif event.get("method") == "Log.entryAdded":
                said.append(str(details["entry"].get("text")))
        return said

    def requests(self) -> list[str]:
        """Every address asked for."""
        sent = (e for e in self.events if e.get("method") == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser with an empty profile, ended afterwards."""
    path = executable()
    if path is None:
        raise FileNotFoundError("no Chromium")
    with tempfile.TemporaryDirectory() as profile:
        read_in, to = os.pipe()
        frm, write_out = os.pipe()
        shell = f'exec "$0" "$@" 3<&{read_in} 4>&{write_out}'
        command = ["bash", "-c", shell, path, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(command, pass_fds=(read_in, write_out), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        os.close(read_in)
        os.close(write_out)
        found = Browser(process, to, frm)
        try:
            found.attach()
            yield found
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(to)
            os.close(frm)
