"""A real browser without a window, for tests of pages: Debian's Chromium, driven by its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any, Self

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome") or ""
MISSING = "no Chromium here: it is not installed; tests/browser/run.sh installs it"
_QUIET = ("disable-background-networking", "disable-component-update", "disable-sync", "disable-quic", "no-first-run")


class Browser:
    """A page. Use it in a `with` block.

    :param errors: what the page has written to its console as errors, and requests that failed.
    :param asked: the addresses of all requests.
    """

    def __init__(self, size: tuple[int, int] = (1280, 800)) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        options = [
            f"--{name}"
            for name in (
                *_QUIET,
                "headless",
                "no-sandbox",
                "enable-unsafe-swiftshader",
                "use-angle=swiftshader",
                "remote-debugging-port=0",
            )
        ]
        options += [f"--user-data-dir={self._folder.name}", f"--window-size={size[0]},{size[1]}"]
        self._program = subprocess.Popen(
            [PROGRAM, *options, "about:blank"], stderr=subprocess.DEVNULL, start_new_session=True
        )
        self._loop = asyncio.new_event_loop()
        self._number, self.errors, self.asked = 0, [], []  # type: ignore[var-annotated]
        self._line: Any = self._loop.run_until_complete(self._connect())
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False
        )

    async def _connect(self) -> Any:
        from tornado.websocket import websocket_connect

        told, end = Path(self._folder.name) / "DevToolsActivePort", time.monotonic() + 240
        while not told.exists() or not told.read_text().strip():
            assert time.monotonic() < end and self._program.poll() is None, "Chromium does not start"
            await asyncio.sleep(0.05)
        port = told.read_text().split()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=30) as answer:
            pages = [one for one in json.load(answer) if one["type"] == "page"]
        return await websocket_connect(pages[0]["webSocketDebuggerUrl"], max_message_size=2**28)

    def call(self, method: str, **parameters: Any) -> Any:
        """The result of a method of the protocol."""
        return self._loop.run_until_complete(asyncio.wait_for(self._called(method, parameters), 60))

    async def _called(self, method: str, parameters: dict[str, Any]) -> Any:
        self._number += 1
        await self._line.write_message(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(await self._line.read_message())
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self._note(answer.get("method"), answer.get("params", {}))

    def _note(self, event: str | None, told: dict[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            self.errors.append(str(told["exceptionDetails"])[:500])
        elif event == "Runtime.consoleAPICalled" and told["type"] == "error":
            self.errors.append(str(told["args"])[:500])
        elif event == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.errors.append(told["entry"]["text"])
        elif event == "Network.requestWillBeSent":
            self.asked.append(told["request"]["url"])
        elif event == "Network.webSocketCreated":
            self.asked.append(told["url"])

    async def _close(self) -> None:
        self._line.close()
        await asyncio.sleep(0)

    def go(self, address: str) -> None:
        """Open a page."""
        self.call("Page.navigate", url=address)

    def value(self, script: str) -> Any:
        """What an expression of JavaScript is."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, (script, found["exceptionDetails"])
        return found["result"].get("value")

    def wait(self, script: str, limit: float = 60) -> Any:
        """Wait until an expression is true; returns what it is. An error in it counts as false."""
        end = time.monotonic() + limit
        while True:
            found = self.value(f"(() => {{ try {{ return {script} }} catch (error) {{ return null }} }})()")
            if found:
                return found
            assert time.monotonic() < end, (script, found, self.errors)
            time.sleep(0.1)

    def picture(self, path: Path) -> None:
        """Store what is seen."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run_until_complete(self._close())  # in its loop: outside of one, another would be made
        self._loop.close()
        os.killpg(self._program.pid, signal.SIGKILL)  # with the programs that it has started
        self._program.wait()
        self._folder.cleanup()
