"""Run the steps of the release workflow: `python -m tools.release check|notes|readme TAG`.

`check` exits with status 1 unless the tag matches the version in pyproject.toml and CHANGELOG.md has a section for it.
`notes` prints that section. `readme` replaces the installation instructions in README.md: before the first release,
they build the wheel; afterwards, they install it from a package index. Needs Python 3.11 and no packages.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]

_INSTALL = re.compile(r"(<!-- install:begin[^\n]*-->\n).*?(<!-- install:end -->)", re.DOTALL)
_RELEASED = """<!-- run by tests/project/test_package.py -->
```sh
uvx --from 'headwater[server]' headwater demo    # without an installation
pip install 'headwater[server]'
```
"""


def problem(tag: str, project: str, changelog: str) -> str | None:
    """Return why a tag such as `v0.3.0` cannot be released, or None.

    project and changelog: the texts of pyproject.toml and CHANGELOG.md.
    """
    version = tomllib.loads(project)["project"]["version"]
    if tag != f"v{version}":
        return f"The tag is {tag}, but the version in pyproject.toml is {version}. Tag the commit as v{version}."
    if not notes(tag, changelog):
        return f"CHANGELOG.md has no entries under [{version}]. Rename the section Unreleased and add its date."
    return None


def notes(tag: str, changelog: str) -> str:
    """Return the changelog entries of a version without the heading; empty if there is no such section."""
    heading = re.compile(rf"^## \[{re.escape(tag.removeprefix('v'))}\][^\n]*\n", re.MULTILINE)
    if (found := heading.search(changelog)) is None:
        return ""
    return re.split(r"^## \[", changelog[found.end() :], maxsplit=1, flags=re.MULTILINE)[0].strip()


def released(readme: str) -> str:
    """Return the README with instructions to install a released version. Raises ValueError without the marked block."""
    text, count = _INSTALL.subn(lambda found: found[1] + _RELEASED + found[2], readme)
    if count != 1:
        raise ValueError("README.md has no block between <!-- install:begin --> and <!-- install:end -->. Restore it.")
    return text


def main() -> int:
    """Run the command given on the command line."""
    command, tag = sys.argv[1:]
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    if command == "notes":
        sys.stdout.write(notes(tag, changelog) + "\n")
        return 0
    if command == "readme":
        path = ROOT / "README.md"
        path.write_text(released(path.read_text("utf-8")), "utf-8")
        return 0
    found = problem(tag, (ROOT / "pyproject.toml").read_text("utf-8"), changelog)
    if found:
        sys.stderr.write(found + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
