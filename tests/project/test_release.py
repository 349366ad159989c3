"""The checks of the release workflow. Workflows must refer to actions by digest."""

import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tools.release import notes, problem, released

CHANGELOG = """# Changelog

## [Unreleased]

## [0.3.0] - 2026-12-01

### Added

- A demo.

## [0.2.0] - 2026-10-01

- Older.
"""
PROJECT = '[project]\nname = "headwater"\nversion = "0.3.0"\n'


def test_a_tag_of_the_version_with_entries_can_be_released() -> None:
    assert problem("v0.3.0", PROJECT, CHANGELOG) is None
    assert notes("v0.3.0", CHANGELOG) == "### Added\n\n- A demo."


@pytest.mark.parametrize(
    ("tag", "changelog", "reason"),
    [
        ("v0.3.1", CHANGELOG, "Tag the commit as v0.3.0"),
        ("0.3.0", CHANGELOG, "Tag the commit as v0.3.0"),
        ("v0.3.0", CHANGELOG.replace("[0.3.0]", "[0.3.0rc1]"), "no entries under [0.3.0]"),
    ],
)
def test_another_tag_or_a_version_without_entries_is_refused(tag: str, changelog: str, reason: str) -> None:
    assert reason in (problem(tag, PROJECT, changelog) or "")


def test_a_tag_changes_how_the_readme_installs_headwater() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    changed = released(readme)
    assert "uvx --from 'headwater[server]' headwater demo" in changed
    assert "make wheel" not in changed.partition("<!-- install:begin")[2].partition("<!-- install:end")[0]
    assert released(changed) == changed
    with pytest.raises(ValueError, match="install:begin"):
        released("# Headwater\n")


@pytest.mark.parametrize("file", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda file: str(file.name))
def test_workflows_use_actions_of_others_by_digest(file: Path) -> None:
    used = re.findall(r"^\s*(?:- )?uses: ([^\s#]+)", file.read_text("utf-8"), re.MULTILINE)
    assert [each for each in used if not each.startswith("./") and not re.search(r"@[0-9a-f]{40}$", each)] == []
