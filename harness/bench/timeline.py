#!/usr/bin/env python3
"""How fluid an HTML timeline is in headless Chromium, which draws without a GPU: a synthetic export of about EVENTS
boxes, the time to write and to open its page, and the frames a second while the wheel zooms in on it.

    harness/bench/timeline.py [EVENTS [LAB]]      100,000 boxes and build/bin/lab if not given
"""
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests"))
from analyze import write_export
from browser import Page

BOXES_PER_KERNEL = 2.2  # kernel, call, and a tenth of a range on either side
WATCH = """
window.frames = [];
const watch = (now) => { window.frames.push(now); requestAnimationFrame(watch); };
requestAnimationFrame(watch);
"""


def main():
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    lab = sys.argv[2] if len(sys.argv) > 2 else "build/bin/lab"
    with tempfile.TemporaryDirectory() as folder:
        export, page_file = os.path.join(folder, "export.sqlite"), os.path.join(folder, "page.html")
        write_export(export, int(events / BOXES_PER_KERNEL))
        began = time.monotonic()
        subprocess.run([lab, "timeline", export, "--html", page_file], check=True, stdout=subprocess.DEVNULL)
        print(f"written in {time.monotonic() - began:.2f} s, {os.path.getsize(page_file) / 1e6:.1f} MB")
        with Page("/dev/null") as page:
            began = time.monotonic()
            page.open(page_file)
            page.settle()
            print(f"open after {time.monotonic() - began:.2f} s")
            page.ask(WATCH)
            began, wheels = time.monotonic(), 0
            while time.monotonic() - began < 5:
                page.mouse("mouseWheel", 800, 200, deltaX=0, deltaY=-30 if wheels < 60 else 30)
                wheels = (wheels + 1) % 120
            frames = page.ask("window.frames")
        steps = sorted(b - a for a, b in zip(frames, frames[1:]))
        print(f"{1000 * len(steps) / sum(steps):.0f} frames a second while zooming, "
              f"the slowest in a hundred after {steps[int(0.99 * len(steps))]:.0f} ms")


if __name__ == "__main__":
    main()
