"""A page in headless Chromium, driven through its own debugging pipe: no driver, and nothing beyond Python."""
import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_chromium():
    """The program, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """Opens `path`, and collects in `complaints` what the console, the page and its policy say."""

    def __init__(self, path, width=1400, height=900):
        self.complaints, self.calls, self.buffer = [], 0, b""
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.said = tempfile.TemporaryFile()
        commands_in, self.commands = os.pipe()
        self.answers, answers_out = os.pipe()

        def place_pipes():  # Chromium reads file descriptor 3 and writes 4
            # First out of the way: either pipe may be 3 or 4 itself, as the caller's open files decide.
            ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 5) for end in (commands_in, answers_out)]
            for number, end in enumerate(ends, 3):
                os.dup2(end, number)

        self.browser = subprocess.Popen(
            [find_chromium(), "--headless", "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}",
             "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
             *(["--no-sandbox"] if os.geteuid() == 0 else []), "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.said, close_fds=False,
            preexec_fn=place_pipes)
        os.close(commands_in)
        os.close(answers_out)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Audits"):
            self.call(domain + ".enable")
        self.resize(width, height)
        self.open(path)

    def open(self, path):
        """A file's path, or an address."""
        self.call("Page.navigate", url=path if "://" in path else "file://" + os.path.abspath(path))
        self.wait_for("document.readyState === 'complete'")

    def close(self):
        self.browser.terminate()
        self.browser.wait()
        self.profile.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def call(self, method, **params):
        self.calls += 1
        message = {"id": self.calls, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.calls:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def read(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.answers, 1 << 20)
            if not piece:
                self.said.seek(0)
                raise RuntimeError(f"Chromium has ended: {self.said.read()[-2000:].decode(errors='replace')}")
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        if message.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded",
                                     "Audits.issueAdded"):
            self.complaints.append(json.dumps(message["params"]))
        return message

    def ask(self, expression):
        """The value of an expression in the page; a promise is waited for."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def settle(self):
        """Waits until what was asked for is drawn."""
        self.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def wait_for(self, condition):
        self.ask("new Promise(done => { const look = () => "
                 f"({condition}) ? done() : setTimeout(look, 10); look(); }})")

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def dark(self, on):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if on else "light"}])

    def mouse(self, kind, x, y, **params):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **params)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", buttons=1, clickCount=1)
        self.settle()

    def drag(self, x, y, to_x, to_y, **params):
        self.mouse("mouseMoved", x, y, **params)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1, **params)
        for step in (0.5, 1):
            self.mouse("mouseMoved", x + (to_x - x) * step, y + (to_y - y) * step, button="left", buttons=1, **params)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1, **params)
        self.settle()

    def wheel(self, x, y, delta):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=delta)
        self.settle()

    def key(self, key, **params):
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = {"Enter": 13, "Escape": 27, "Tab": 9}.get(key, ord(key[0]))
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text, **params)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code, **params)
        self.settle()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.settle()

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
