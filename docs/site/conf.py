"""Sphinx's settings for the course's pages, and with the tag `slides` for its decks; build.sh says how it is called.

The pages are GitHub's Markdown and stay so. What only a site has is added here while they are read: the sidebar, the
interactive timelines, and a page for each program that a page links to.
"""
import os
import re
import shutil
import subprocess
from pathlib import Path

from docutils import nodes
from sphinx.parsers import Parser

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LANGUAGES = {".cu": "cuda", ".cuh": "cuda", ".h": "cpp", ".cpp": "cpp", ".py": "python", ".sh": "bash", ".toml": "toml"}
REPOSITORY = os.environ.get("SITE_REPOSITORY", "")  # where a link to a folder leads, as https://HOST/NAME/tree/main
IS_DECKS = globals()["tags"].has("slides")  # Sphinx puts it there
LINK = re.compile(r"\]\(([^)#\s]+)")
TIMELINE = """

<details class="interactive">
<summary>Zoom, search and measure it here, or <a href="timeline.html">on a page of its own</a></summary>
<iframe src="timeline.html" loading="lazy" title="Interactive timeline of both programs"></iframe>
</details>
"""
INSTRUCTORS = ["instructors", "handout", "contributing", "coverage", "releasing", "verification"]

project = "CUDA's developer tools, hands on"
html_title = project
copyright = "CC BY 4.0"
root_doc = "README"
extensions = ["myst_parser", *(["sphinx_revealjs"] if IS_DECKS else [])]
source_suffix = {".md": "markdown", **dict.fromkeys(LANGUAGES, "program")}
myst_heading_anchors = 6
myst_enable_extensions = ["html_image"]
# What GitHub shows as it stands.
myst_disable_syntax = ["myst_line_comment", "myst_block_break", "myst_target", "myst_role", "footnote_inline"]
smartquotes = False
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure", "toc.not_included", "myst.header"]
html_theme = "furo"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_copy_source = html_use_index = html_show_sourcelink = html_show_sphinx = False
revealjs_static_path = html_static_path
revealjs_css_files = ["deck.css"]
revealjs_style_theme = "white"
revealjs_script_conf = {"width": 1280, "height": 720, "margin": 0.06, "center": False, "hash": True, "controls": False,
                        "slideNumber": "c/t", "transition": "none"}
revealjs_script_plugins = [{"name": name, "src": f"revealjs/plugin/{name[6:].lower()}/{name[6:].lower()}.js"}
                           for name in ("RevealNotes", "RevealHighlight")]


def files_of_the_course():
    """Markdown that git tracks or would, but for decks; or the decks alone."""
    folders = [":(glob)*.md", "docs/*.md", "ch*/*.md", "harness/*.md"]
    listed = subprocess.check_output(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", *folders], text=True)
    return sorted(file for file in listed.split()
                  if (Path(file).name == "slides.md") == IS_DECKS and (ROOT / file).exists())


def programs_linked_from(pages):
    """What a page links to and is text in a language that we can highlight."""
    found = set()
    for page in pages:
        for target in LINK.findall((ROOT / page).read_text()):
            path = os.path.normpath(os.path.join(os.path.dirname(page), target))
            if Path(path).suffix in LANGUAGES and (ROOT / path).is_file():
                found.add(path)
    return sorted(found)


PAGES = files_of_the_course()
include_patterns = PAGES if IS_DECKS else PAGES + programs_linked_from(PAGES)
if IS_DECKS:
    root_doc = PAGES[0].removesuffix(".md")


def sidebar(page):
    """The entries below a page, by caption."""
    def pages(folder, names="*"):
        number = {file: int((re.findall(r"/(\d+)_", file) or ["0"])[-1]) for file in PAGES}
        return [os.path.relpath(file, os.path.dirname(page)).removesuffix(".md")
                for file in sorted(PAGES, key=number.get) if Path(file).match(f"{folder}/{names}.md")]
    if page == "README.md":
        docs = pages("docs")
        return {"Chapters": pages("ch*", "README"),
                "Look it up": [doc for doc in docs if Path(doc).name not in INSTRUCTORS],
                "Teach and maintain": [f"docs/{name}" for name in INSTRUCTORS if f"docs/{name}" in docs]}
    return {"": pages(f"{os.path.dirname(page)}/exercises/*", "README")} if re.match(r"ch\w+/README", page) else {}


def link_to_folder(found, page, out):
    """A link of a page, in the form that Sphinx takes; of a folder its files are copied, and listed."""
    folder = os.path.normpath(os.path.join(os.path.dirname(page), found[2]))
    if not (ROOT / folder).is_dir():
        return found[0]
    if REPOSITORY:
        return f"[{found[1]}]({REPOSITORY}/{folder})"
    names = [file.name for file in sorted(shutil.copytree(ROOT / folder, out / folder, dirs_exist_ok=True).iterdir())]
    listed = "\n".join(f'<li><a href="{name}">{name}</a></li>' for name in names if name != "index.html")
    (out / folder / "index.html").write_text(f"<!doctype html>\n<title>{folder}</title>\n<ul>\n{listed}\n</ul>\n")
    return f'<a href="{found[2]}/index.html">{found[1]}</a>'


def prepare_page(app, docname, content):
    """Adds to a page what only the site has."""
    page, folder, text = docname + ".md", os.path.dirname(docname), content[0]
    if not (ROOT / page).exists():
        return
    if IS_DECKS:
        text = text.replace("<details>\n<summary>Notes</summary>", '<aside class="notes">')
        content[0] = text.replace("</details>", "</aside>")
        return
    text = re.sub(r"\[([^]]+)\]\(([^)#\s:]+)\)", lambda found: link_to_folder(found, page, Path(app.outdir)), text)
    text = re.sub(r'href="([^":]+)\.md(["#])', r'href="\1.html\2', text)
    to_root = os.path.relpath(".", folder or ".")
    text = re.sub(r"\[([^]]+)\]\([./]*(ch\w+)/slides\.md\)",
                  rf'<a href="{to_root}/slides/\2/slides.html">\1</a>', text)
    if (Path(app.outdir) / folder / "timeline.html").exists() and page.startswith("ch"):
        figure = re.compile(r"<!-- figure: pair(?! buggy| fixed)[^>]*-->.*?<!-- /figure -->", re.DOTALL)
        text = figure.sub(lambda found: found.group() + TIMELINE, text, count=1)
    for caption, entries in sidebar(page).items():
        lines = [":hidden:", *([f":caption: {caption}"] if caption else []), *entries]
        text += "\n\n```{toctree}\n" + "\n".join(lines) + "\n```\n"
    if page.endswith("/after.md") or page == "docs/instructors.md":  # answers: not to be met by a search
        text = "---\nnosearch: true\n---\n" + text
    content[0] = text


class Program(Parser):
    """A program as a page: its path and its highlighted text."""

    supported = ("program",)

    def parse(self, inputstring, document):
        self.setup_parse(inputstring, document)
        env = document.settings.env
        env.metadata[env.docname]["nosearch"] = True
        path = env.doc2path(env.docname)
        section = nodes.section(ids=["program"])
        section += nodes.title(text=os.path.relpath(path, ROOT))
        section += nodes.literal_block(inputstring, inputstring, language=LANGUAGES[Path(path).suffix])
        document += section
        self.finish_parse()


def setup(app):
    app.add_source_parser(Program)
    app.connect("source-read", prepare_page)
