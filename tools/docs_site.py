"""Build the documentation site in `dist/docs/` and check it: `python -m tools.docs_site`.

The build fails on every warning of Sphinx. Then the program checks each page as a browser reads it: local links and
fragments must exist, and a page must not load anything from another host.
"""

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tools.docs_env import environment
from tools.locked_environment import ROOT, Missing, in_order

SITE = ROOT / "dist" / "docs"
_LOADS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "srcset"), ("link", "href")}


def build(site: Path = SITE) -> str:
    """Build and check the site. Raises Missing with the problems, one per line."""
    command = [str(environment()), "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "--jobs", "2"]
    command += ["--doctree-dir", str(ROOT / ".cache" / "doctrees"), str(ROOT / "docs"), str(site)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise Missing(f"the site has errors:\n{done.stdout.strip()}")
    if problems := broken_links(site):
        raise Missing("the site has broken links:\n" + "\n".join(problems))
    pages = sum(1 for _ in site.rglob("*.html"))
    return f"docs: {pages} pages in {site.relative_to(ROOT)}, no broken link"


class _Page(HTMLParser):
    """The fragments and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fragments: set[str] = set()
        self.links: list[tuple[str, str, bool]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.fragments.add(value)
            elif name in {"href", "src", "srcset"} and value and (tag, name) != ("link", "canonical"):
                self.links.append((tag, value, (tag, name) in _LOADS))


def broken_links(site: Path) -> list[str]:
    """Return the broken links of all pages in a folder, each as `page: problem`."""
    pages = {path: _Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for _, link, loaded in page.links:
            parts, where = urlsplit(link), path.relative_to(site)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                if loaded:
                    found.append(f"{where}: loads {link} from another host")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                found.append(f"{where}: {link} does not exist")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].fragments:
                found.append(f"{where}: {link} has no such anchor")
    return found


def main() -> int:
    """Build the site."""
    return in_order("docs", build)


if __name__ == "__main__":
    sys.exit(main())
