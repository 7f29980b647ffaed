#!/usr/bin/env python3
"""Prints decks as PDF, beside their folders:  print_decks.py SLIDES, a folder with CHAPTER/slides.html.

Chromium's own --print-to-pdf doesn't wait until Reveal.js has laid out the pages, so it is driven. Exits with 77 where
it isn't installed.
"""
import base64
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parents[2] / "harness/tests"))
from browser import Page, find_chromium


def main():
    if not find_chromium():
        print("The decks are not printed: Chromium is not here.")
        sys.exit(77)
    decks = sorted(Path(sys.argv[1]).glob("*/slides.html"))
    with Page(f"{decks[0]}?print-pdf", 1280, 720) as page:
        for deck in decks:
            page.open(f"{deck}?print-pdf")
            page.wait_for("document.querySelectorAll('.pdf-page').length >= Reveal.getTotalSlides() && "
                          "[...document.images].every((image) => image.complete)")
            page.settle()
            printed = page.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
            pdf = deck.parent.with_suffix(".pdf")
            pdf.write_bytes(base64.b64decode(printed["data"]))
            print(pdf)


if __name__ == "__main__":
    main()
