#!/usr/bin/env python3
"""The HTML timeline in a real browser:  timeline_page.py LAB. Exits with 77 where there is no Chromium."""
import os
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "bench"))
sys.dont_write_bytecode = True
from analyze import PROCESS, SCHEMA
from browser import Page, find_chromium

HOSTILE = "</script><img src=x onerror=hacked=1>"
NAMES = {1: "cudaLaunchKernel_v7000", 2: "cudaMemcpyAsync_v3020", 3: "step", 4: "saxpy", 5: HOSTILE, 6: "gnp\u202egnp"}
SPAN = 100_000  # ns, from the first box to the last
failures = []


def check(what, holds, found=""):
    if not holds:
        failures.append(what)
        print(f"FAILED: {what}", f"(found: {found!r})" if found != "" else "")


def write_export(path):
    """Calls on one thread in a range, and their work on two streams; names from hostile hands."""
    database = sqlite3.connect(path)
    database.executescript(SCHEMA)
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", NAMES.items())
    calls = [(10_000, 14_000, 1, 1), (20_000, 24_000, 2, 1), (30_000, 34_000, 3, 1), (40_000, 44_000, 4, 2)]
    kernels = [(50_000, 62_345, 13, 1, 4), (63_000, 64_000, 13, 2, 5), (64_500, 65_500, 13, 3, 6)]
    database.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, {PROCESS + 4711}, ?, ?, 0)", calls)
    database.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, ?, ?, {PROCESS}, ?5, ?5, "
                         "128, 1, 1, 256, 1, 1)", kernels)
    database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES "
                     f"(70000, 100000, 0, 14, 4, {PROCESS}, 1000000, 1, 1, 2, 1)")
    database.execute(f"INSERT INTO NVTX_EVENTS VALUES (0, 35000, 59, NULL, {PROCESS + 4711}, 3, 0)")
    database.commit()
    database.close()


class Timeline(Page):
    """The page, in the words of its rows and times."""

    def text(self, selector):
        return self.ask(f"document.querySelector({selector!r}).innerText").replace("\n", " ")

    def ticks(self):
        return self.ask("[...document.querySelectorAll('#axis text')].map((t) => t.textContent)")

    def place(self, row, time):
        """Where a time of the first view lies in a row of this name, the first of them."""
        plot = self.ask("(() => { const r = plot.getBoundingClientRect(); return [r.left, r.width]; })()")
        y = self.ask("(() => { const r = [...document.querySelectorAll('.row')].find((r) => r.textContent === "
                     f"{row!r}).getBoundingClientRect(); return r.top + r.height / 2; }})()")
        return plot[0] + plot[1] * (time + 0.01 * SPAN) / (1.02 * SPAN), y

    def colour(self, row, time):
        x, y = self.place(row, time)
        return self.ask("(() => { const r = plot.getBoundingClientRect(), c = plot.getContext('2d'); return "
                        f"[...c.getImageData({x} - r.left, {y} - r.top, 1, 1).data].slice(0, 3).join(); }})()")

    def press(self, *keys):
        for key in keys:
            self.key(key)


def look_at(page):
    rows = page.ask("[...document.querySelectorAll('#names > *')].map((row) => row.innerText)")
    check("rows as in Nsight Systems", rows[1:] == [
        "GPU Metrics", "SMs Active", "CUDA HW (a GPU that does not exist)", "Stream 13 Kernels", "Stream 14 Memory",
        "NVTX", "GPU idle", "CPU, main thread", "NVTX", "CUDA API"], rows)
    kernel = "89,38,191"
    check("a kernel has the colour that follows from its name", page.colour("Stream 13 Kernels", 56_000) == kernel,
          page.colour("Stream 13 Kernels", 56_000))
    check("a curve is drawn", page.colour("SMs Active", 20_000) != page.colour("SMs Active", 90_000))
    page.mouse("mouseMoved", *page.place("SMs Active", 20_000))
    page.settle()
    check("a curve tells its value", "SMs Active: 73 %" in page.text("#tip"), page.text("#tip"))

    page.mouse("mouseMoved", *page.place("Stream 13 Kernels", 51_000))
    page.settle()
    tip = page.text("#tip")
    for part in ("saxpy", "start 50 µs", "duration 12.345 µs", "Stream 13", "grid <<<128, 1, 1>>>",
                 "block <<<256, 1, 1>>>"):
        check(f"the tooltip says {part}", part in tip, tip)
    page.mouse("mouseMoved", *page.place("Stream 14 Memory", 80_000))
    page.settle()
    for part in ("copy host to device", "bytes 1,000,000", "rate 33.3 GB/s", "memory pinned to device"):
        check(f"the tooltip of a copy says {part}", part in page.text("#tip"), page.text("#tip"))

    before = page.colour("CUDA API", 20_200)  # beside the name
    page.click(*page.place("Stream 13 Kernels", 51_000))
    details = page.text("#details")
    check("a click says what belongs together", "launched by cudaLaunchKernel 4 µs, which began 40 µs earlier, "
          "in range step 35 µs" in details, details)
    check("its call stays as it was", page.colour("CUDA API", 10_200) == before)
    check("other calls are dimmed", page.colour("CUDA API", 20_200) != before)
    check("its range stays as it was", page.colour("NVTX", 55_000) == "198,207,218", page.colour("NVTX", 55_000))
    page.press(".")
    check("a full stop goes to the next box", HOSTILE in page.text("#details"), page.text("#details"))
    check("a name stays text", page.ask("document.images.length + document.scripts.length") == 3)
    page.press("Escape")
    check("Escape lets go", "Hover over a box" in page.text("#details"))

    page.drag(*page.place("Stream 13 Kernels", 49_900), *page.place("Stream 13 Kernels", 62_100), modifiers=8)
    check("a measure goes from edge to edge", "12.345 µs measured" in page.text("#details"), page.text("#details"))
    page.press("Escape")

    first = page.ticks()
    page.wheel(*page.place("Stream 13 Kernels", 56_000), -400)
    zoomed = page.ticks()
    check("the wheel zooms", zoomed != first and "54 µs" in zoomed, (first, zoomed))
    page.drag(*page.place("Stream 13 Kernels", 56_000), *page.place("Stream 13 Kernels", 66_000))
    check("a drag moves", page.ticks() != zoomed)
    page.press("0")
    check("0 goes back", page.ticks() == first, page.ticks())

    page.press("/")
    page.type("saxpy")
    check("the search counts", page.text("#found") == "1 found", page.text("#found"))
    page.press("Enter")
    check("Enter goes to the match", "saxpy" in page.text("#details") and page.text("#found") == "1 of 1")
    page.press("Escape", "/")
    page.type("gnp")
    page.press("Enter")
    check("marks that reorder text are gone", "\u202e" not in page.text("#details"), page.text("#details"))
    page.press("Escape")

    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.ask(paper)
    page.dark(True)
    check("dark mode is followed", page.ask(paper) != light)
    page.dark(False)
    for width in (400, 1400):
        page.resize(width, 800)
        page.settle()
        check(f"nothing is wider than a window of {width}", page.ask("document.documentElement.scrollWidth") <= width)
    complaints = [c for c in page.complaints if "getImageData" not in c]  # that is what this test does
    check("no complaint of console or policy", complaints == [], complaints)


def attack(page):
    """What the policy has to stop, which it says in the console."""
    for script in ("document.body.innerHTML = '<p>x</p>'", "eval('1')", "document.body.append(Object.assign("
                   "document.createElement('script'), {textContent: 'hacked = 1'}))"):
        page.ask(f"(() => {{ try {{ (() => {{ {script} }})(); }} catch (error) {{}} }})()")
    page.ask("new Promise((done) => { const s = document.createElement('style'); s.textContent = 'body { width: 1px }';"
             " document.head.append(s); setTimeout(done, 20); })")
    check("no script gets in", page.ask("typeof hacked") == "undefined")
    check("no markup gets in", page.ask("document.querySelectorAll('body > p').length") == 0)
    check("no style gets in", page.ask("document.body.offsetWidth") > 1)


def main():
    if not find_chromium():
        print("The HTML timeline has not been looked at: Chromium is not here.")
        sys.exit(77)
    lab = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        export, file = os.path.join(folder, "made.sqlite"), os.path.join(folder, "page.html")
        write_export(export)
        subprocess.run([lab, "timeline", export, "--html", file], check=True, stdout=subprocess.DEVNULL)
        with open(file, encoding="utf-8") as page:
            text = page.read()
        curve = '"curves":[{"name":"SMs Active","unit":"%","points":[0,73,30000,20,60000,0]}'
        with open(file, "w", encoding="utf-8") as page:
            page.write(text.replace('"curves":[', curve))
        with Timeline(file) as page:
            look_at(page)
            attack(page)
    if failures:
        sys.exit(f"{len(failures)} of the checks in a browser failed")
    print("The page does in Chromium what it should.")


if __name__ == "__main__":
    main()
