#!/usr/bin/env python3
"""The course's site in a real browser:  site_page.py OUT, which docs/site/build.sh made. Exits with 77 where there is
no Chromium."""
import functools
import http.server
import sys
import threading
from pathlib import Path

sys.dont_write_bytecode = True
from browser import Page, find_chromium

PHONE, DESKTOP = (390, 844), (1440, 900)
WIDEST = "Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)"
PAPER = "getComputedStyle(document.body).backgroundColor"
failures = []


def check(what, holds, found=""):
    if not holds:
        failures.append(what)
        print(f"FAILED: {what}", f"(found: {found!r})" if found != "" else "")


class QuietFiles(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(folder):
    """The address of a server of these files: a page may look into a frame of its own origin alone."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietFiles, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def look_at_widths(page, site, files):
    for file in files:
        page.open(site + file)
        for width, height in (PHONE, DESKTOP):
            page.resize(width, height)
            widest = page.ask(WIDEST)
            check(f"{file} fits {width} px", widest <= width, widest)


def look_at_one(page, site):
    page.open(site + "search.html?q=pageable")
    page.wait_for("/finished|did not match/.test(document.querySelector('#search-results').innerText)")
    found = page.ask("[...document.querySelectorAll('#search-results li a')].map((a) => a.getAttribute('href'))")
    check("the search finds 'pageable' in chapter 2", any("ch02_nsys/README.html" in href for href in found), found)
    check("the search leads to no page of answers", not any("after.html" in href for href in found), found)

    page.open(site + "ch05_streams/README.html")
    themes = {}
    for _ in range(3):
        page.ask("document.querySelector('.content-icon-container .theme-toggle').click()")
        themes[page.ask("document.body.dataset.theme")] = page.ask(PAPER)
    check("a button switches to dark mode and back", set(themes) == {"auto", "dark", "light"}, themes)
    check("dark mode has another paper", themes.get("dark") != themes.get("light"), themes)
    check("tables are tables", page.ask("document.querySelectorAll('article table').length") > 1)
    check("code is coloured", page.ask("document.querySelectorAll('article .highlight span[class]').length") > 5)
    page.wait_for("[...document.querySelectorAll('article img')].every((image) => image.complete)")
    check("pictures are there", page.ask("[...document.querySelectorAll('article img')].every((i) => i.naturalWidth)"))
    page.ask("document.querySelector('details.interactive').open = true")
    page.ask("document.querySelector('details.interactive iframe').scrollIntoView()")
    plot = "document.querySelector('details.interactive iframe').contentDocument?.getElementById('plot')"
    page.wait_for(f"{plot}?.width > 300")
    page.settle()
    colours = page.ask(f"(() => {{ const plot = {plot}, data = plot.getContext('2d').getImageData(0, 0, plot.width, "
                       "plot.height).data, seen = new Set(); for (let i = 0; i < data.length; i += 4) "
                       "seen.add(data.slice(i, i + 3).join()); return seen.size; })()")
    check("the embedded timeline draws", colours > 8, colours)


def look_at_deck(page, address):
    page.resize(1280, 720)
    page.open(address)
    page.wait_for("window.Reveal && Reveal.isReady()")
    slides = page.ask("Reveal.getTotalSlides()")
    check(f"{address} has at least eight slides", slides >= 8, slides)
    for slide in range(slides):
        page.ask(f"Reveal.slide({slide})")
        page.settle()
        lowest = page.ask("Math.max(...[...Reveal.getCurrentSlide().querySelectorAll('*:not(aside):not(aside *)')].map("
                          "(e) => e.getBoundingClientRect().bottom))")
        check(f"slide {slide + 1} of {address} ends above the window's end", lowest <= 720, lowest)
        wide = page.ask("[...Reveal.getCurrentSlide().querySelectorAll('pre code')].filter("
                        "(code) => code.scrollWidth > code.clientWidth).length")
        check(f"code on slide {slide + 1} of {address} isn't cut", wide == 0, wide)
        check(f"slide {slide + 1} of {address} has notes", page.ask("Reveal.getSlideNotes()"))


def main():
    if not find_chromium():
        print("The site has not been looked at: Chromium is not here.")
        sys.exit(77)
    out = Path(sys.argv[1]).resolve()
    files = sorted(str(file.relative_to(out)) for file in out.rglob("*.html")
                   if not {"slides", "_static"} & set(file.relative_to(out).parts) and file.name != "timeline.html")
    decks = sorted(str(file.relative_to(out)) for file in out.glob("slides/ch*/slides.html"))
    check("the site has its pages", len(files) > 60, len(files))
    check("each chapter has a deck", len(decks) == len(list(out.glob("ch*/README.html"))), decks)
    for timeline in out.glob("ch*/timeline.html"):
        check(f"a page embeds {timeline.relative_to(out)}",
              any('src="timeline.html"' in page.read_text() for page in timeline.parent.glob("*.html")))
    site = serve(str(out))
    with Page(site + "index.html", *DESKTOP) as page:
        look_at_widths(page, site, files)
        page.resize(*DESKTOP)
        look_at_one(page, site)
        for deck in decks:
            look_at_deck(page, site + deck)
    if failures:
        sys.exit(f"{len(failures)} of the checks of the site failed")
    print(f"{len(files)} pages and {len(decks)} decks do in Chromium what they should.")


if __name__ == "__main__":
    main()
