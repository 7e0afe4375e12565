#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The live page as a browser shows it: browser.py URL [DIRECTORY-FOR-SCREENSHOTS]

Opens it in headless Chromium, light, dark and as wide as a phone, waits until its curves are
drawn, and prints what it found as one JSON object. Chromium is driven by its DevTools protocol
over a pipe. Exit status 1 if anything isn't as it should be, which standard error then says."""

import base64
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time

PATIENCE = 60
VIEWS = {
    "light": {"scheme": "light", "width": 1200, "height": 1250},
    "dark": {"scheme": "dark", "width": 1200, "height": 1250},
    "phone": {"scheme": "light", "width": 390, "height": 1700},
}
# Whether the page has drawn: enough looks for a curve, and ink on the first chart.
DRAWN = """(() => {
  const canvas = document.querySelector("#aom-chart canvas");
  if (!canvas || document.querySelectorAll("#rows tr").length === 0) return false;
  if ((historyOf(state.queue).times.length) < 4) return false;
  return canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data
    .some((value) => value !== 0);
})()"""
SEEN = """({
  title: document.title,
  trouble: document.getElementById("trouble").textContent,
  about: document.getElementById("about").textContent,
  verdict: document.getElementById("verdict").textContent,
  capacity: document.getElementById("capacity").textContent,
  clusters: [...document.querySelectorAll("#rows tr")].map((row) => row.cells[0].textContent),
  jobs: [...document.querySelectorAll("#jobs tr")]
    .map((row) => [...row.cells].map((cell) => cell.textContent).join(" ")),
  counters: Object.fromEntries([...document.querySelectorAll("#counters tr")]
    .map((row) => [row.cells[0].textContent, Number(row.cells[1].textContent)])),
  background: getComputedStyle(document.body).backgroundColor,
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  smallest_text: Math.min(...[...document.querySelectorAll("main *")]
    .filter((e) => e.textContent.trim()).map((e) => parseFloat(getComputedStyle(e).fontSize))),
})"""


# Tiles that leave a gap at the end of their row, at any width of a window.
ORPHANS = """(() => {
  const box = document.querySelector(".tiles").getBoundingClientRect(), rows = new Map();
  for (const tile of document.querySelectorAll(".tile")) {
    const { top, right } = tile.getBoundingClientRect();
    rows.set(top, Math.max(rows.get(top) || 0, right));
  }
  return [...rows.values()].filter((right) => Math.abs(right - box.right) > 1).length;
})()"""
# The middle of a chart, and what stands beside the pointer there.
MIDDLE = """(() => {
  const box = document.querySelector("#%s .u-over").getBoundingClientRect();
  return [box.left + box.width * 0.98, box.top + box.height / 2];
})()"""
TIP = """(() => {
  const tip = document.querySelector("#%s .tip");
  return tip.hidden ? "" : tip.innerText;
})()"""


class Browser:
    """Chromium, and what it says."""

    def __init__(self, profile):
        (low_to, ours_out), (ours_in, low_from) = os.pipe(), os.pipe()
        # Chromium reads from descriptor 3 and writes to 4: ours must not be in their way.
        to_browser, from_browser = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 5)
                                    for fd in (low_to, low_from))
        os.close(low_to)
        os.close(low_from)

        def hand_over():
            os.dup2(to_browser, 3)
            os.dup2(from_browser, 4)

        # In a PID namespace of its own: when unshare has ended, so have all of Chromium's processes,
        # and none still writes into the profile.
        self.process = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
             "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--disable-dev-shm-usage", "--hide-scrollbars", f"--user-data-dir={profile}",
             "--remote-debugging-pipe", "about:blank"],
            preexec_fn=hand_over, close_fds=False, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.out, self.into = ours_out, os.fdopen(ours_in, "rb", buffering=0)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.last_id, self.session = b"", 0, None
        self.events = []

    def receive(self):
        while b"\0" not in self.buffer:
            piece = self.into.read(65536)
            if not piece:
                raise RuntimeError("the browser has gone")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **parameters):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def open(self, url):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")
        self.ask("Page.navigate", url=url)

    def show(self, view):
        self.ask("Emulation.setDeviceMetricsOverride", width=view["width"], height=view["height"],
                 deviceScaleFactor=1, mobile=view["width"] < 600)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": view["scheme"]}])

    def hover(self, chart):
        """What a chart says of the moment under the pointer."""
        left, top = self.evaluate(MIDDLE % chart)
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=left, y=top)
        deadline = time.monotonic() + PATIENCE
        while not (tip := self.evaluate(TIP % chart)) and time.monotonic() < deadline:
            time.sleep(0.05)
        return tip

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

    def close(self):
        """Ends it, and waits until the last of its processes has gone."""
        self.session = None
        try:
            self.ask("Browser.close")
            self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()

    def complaints(self):
        """Errors of the page, and requests that went anywhere but to its own server."""
        for event in self.events:
            if event.get("method") == "Runtime.exceptionThrown":
                yield event["params"]["exceptionDetails"]["text"]
            if event.get("method") == "Log.entryAdded":
                entry = event["params"]["entry"]
                if entry["level"] == "error":
                    yield entry["text"]

    def requests(self):
        return {event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"}


def look(url, directory):
    found, wrong = {}, []
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(profile)
        try:
            browser.open(url)
            deadline = time.monotonic() + PATIENCE
            while not browser.evaluate(DRAWN):
                if time.monotonic() > deadline:
                    raise RuntimeError(f"nothing is drawn: {browser.evaluate(SEEN)}")
                time.sleep(0.1)
            for name, view in VIEWS.items():
                browser.show(view)
                browser.evaluate("redraw()")
                found[name] = browser.evaluate(SEEN)
                if directory:
                    browser.screenshot(os.path.join(directory, f"{name}.png"))
            for width in range(320, 1500, 20):
                browser.show({"scheme": "light", "width": width, "height": 900})
                if browser.evaluate(ORPHANS):
                    wrong.append(f"{width} pixels: a tile stands alone")
            browser.show(VIEWS["light"])
            browser.evaluate("fitCharts()")
            found["tips"] = {chart: browser.hover(chart)
                             for chart in ("aom-chart", "rate-chart", "queue-chart")}
            wrong += browser.complaints()
            found["requests"] = sorted(browser.requests())
        finally:
            browser.close()
    for name in VIEWS:
        seen = found[name]
        if seen["trouble"]:
            wrong.append(f"{name}: {seen['trouble']}")
        if seen["overflow"] > 0:
            wrong.append(f"{name}: {seen['overflow']} pixels wider than the window")
        if seen["smallest_text"] < 12:
            wrong.append(f"{name}: text of {seen['smallest_text']} pixels")
    if found["light"]["background"] == found["dark"]["background"]:
        wrong.append("light and dark look the same")
    wrong += [f"it asks {other}" for other in found["requests"]
              if not other.startswith((url, "data:", "about:"))]
    return found, wrong


def main():
    found, wrong = look(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
    print(json.dumps(found))
    for complaint in wrong:
        print(complaint, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
