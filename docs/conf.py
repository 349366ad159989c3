"""Configure Sphinx for the documentation site. `make docs` builds it; docs/decisions/0140 explains the choice.

The pages are plain Markdown, so that they can also be read in the repository. Three things are added here:

- Index pages list other pages as links. Each list is also the navigation, so no page holds a second list.
- Pages in `project/` show files of the repository, such as CONTRIBUTING.md.
- Addresses that a page had before it moved (redirects.txt) lead to its present one.
"""

import hashlib
import os
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent

project = "Headwater"
author = "The Headwater authors"
html_title = "Headwater"
root_doc = "index"
extensions = ["myst_parser"]
myst_heading_anchors = 6
source_suffix = {".md": "markdown"}
nitpicky = True
# Examples are shortened with "…", which no lexer accepts; they are highlighted as far as possible
suppress_warnings = ["misc.highlighting_failure"]
html_theme = "furo"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
# A build that changes nothing writes the same bytes
html_last_updated_fmt = None

REPOSITORY_FILES = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security-policy.md",
    "README.md": "index.md",
}
"""Files outside this folder that are pages of the site, with the page."""

REPOSITORY = os.environ.get("HEADWATER_REPOSITORY", "")
"""Address of the repository, such as https://git.example.org/headwater/blob/main. Links to code need it."""

_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)((?:#[^)\s]*)?)\)")
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def _is_index(page: str) -> bool:
    return page.rpartition("/")[2] in {"index", "README"}


def _relinked(text: str, written_in: Path, shown_in: Path) -> str:
    """Return the text of a file with its links as they must be in the page that shows it."""

    def link(found: re.Match[str]) -> str:
        target = found[2]
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        path = Path(os.path.normpath(written_in.parent / target))
        if path.parent == ROOT and path.name in REPOSITORY_FILES:
            path = HERE / REPOSITORY_FILES[path.name]
        elif not path.is_relative_to(HERE) and path.exists():
            return f"[{found[1]}]({REPOSITORY}/{path.relative_to(ROOT)})" if REPOSITORY else found[1]
        return f"[{found[1]}]({os.path.relpath(path, shown_in.parent)}{found[3]})"

    return _LINK.sub(link, text)


def _toctrees(page: str, text: str) -> str:
    """Return a hidden table of contents for each section of an index page, from the links of the section."""
    folder, listed, parts = (HERE / page).parent, set[str](), _HEADING.split(text)
    trees = []
    for caption, body in zip([None, *parts[1::2]], parts[::2], strict=True):
        entries = []
        for target in (
            found[2] for found in _LINK.finditer(body) if found[2].endswith(".md") and "://" not in found[2]
        ):
            path = Path(os.path.normpath(folder / target))
            entry = os.path.relpath(path, HERE).removesuffix(".md")
            if path.is_relative_to(folder) and not entry.startswith("decisions/0") and entry not in {page, *listed}:
                listed.add(entry)
                entries.append(f"/{entry}")
        if entries:
            named = [f":caption: {caption}"] if caption and page == root_doc else []
            trees.append("\n".join(["```{toctree}", ":hidden:", *named, "", *entries, "```"]))
    return "\n\n".join(trees)


def _read(app: Any, page: str, source: list[str]) -> None:
    path = HERE / f"{page}.md"
    shown = {page: file for file, page in REPOSITORY_FILES.items() if page.startswith("project/")}.get(f"{page}.md")
    written_in = ROOT / shown if shown else path
    if shown:
        app.env.note_dependency(str(written_in))  # read the page again if this file changes
    source[0] = _relinked(written_in.read_text("utf-8") if shown else source[0], written_in, path)
    if page.startswith(
        "decisions/0"
    ):  # 130 entries in the navigation of each page hide the others, and cost half a build
        source[0] = f"---\norphan: true\n---\n{source[0]}"
    elif _is_index(page):
        source[0] += f"\n\n{_toctrees(page, source[0])}\n"


def _redirect(app: Any, error: Exception | None) -> None:
    """Write a page at each former address that opens the present one, with the fragment of the address."""
    if error or app.builder.format != "html":
        return
    for line in (HERE / "redirects.txt").read_text("utf-8").splitlines():
        old, _, new = line.partition(" ")
        page = Path(app.outdir) / f"{old}.html"
        target = os.path.relpath(Path(app.outdir) / f"{new}.html", page.parent)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(
            f'<!doctype html><meta charset="utf-8"><title>Moved</title><link rel="canonical" href="{target}">\n'
            f'<meta http-equiv="refresh" content="1; url={target}">\n'
            f'<script>location.replace("{target}" + location.hash)</script>\n'
            f'<p>This page moved to <a href="{target}">{target}</a>.</p>\n',
            "utf-8",
        )


def setup(app: Any) -> None:
    """Connect the steps above to Sphinx."""
    # Pages are read again if this file changes
    app.add_config_value("steps", hashlib.sha256(Path(__file__).read_bytes()).hexdigest(), "env", str)
    app.connect("source-read", _read)
    app.connect("build-finished", _redirect)
