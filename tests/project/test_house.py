"""Repository rules: embedded programs import existing names, hooks run the same checks as CI, no test is skipped."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.paths import ROOT


def programs_in_texts(files: Iterable[Path]) -> Iterator[tuple[str, str, str]]:
    """Yield module, name and file of each import from Headwater in embedded programs, which type checkers
    do not read.
    """
    taken = re.compile(r"(?:^|[\n;]) *from (headwater[\w.]*) import ([\w, ]+)")
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for module, names in taken.findall(node.value):
                    yield from ((module, name.split()[0], str(file)) for name in names.split(","))


@pytest.mark.slow
def test_programs_in_texts_take_what_is_there() -> None:
    found = list(
        programs_in_texts(file for room in ("bench", "tests", "tools") for file in (ROOT / room).rglob("*.py"))
    )
    assert len(found) > 20
    lost = [each for each in found if not hasattr(importlib.import_module(each[0]), each[1])]
    assert lost == []


def test_a_commits_hooks_are_the_checks_by_the_projects_own_environment() -> None:
    (own,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    checks = (ROOT / "Makefile").read_text("utf-8").partition("\ncheck-code:")[2].partition("\n\n")[0]
    ours = [line.replace("$(BIN)", ".venv/bin") for line in map(str.strip, checks.splitlines()) if "$(BIN)" in line]
    assert own["repo"] == "local"
    assert [hook["entry"] for hook in own["hooks"]] == ours
    assert {(hook["language"], hook["pass_filenames"]) for hook in own["hooks"]} == {("system", False)}


def test_the_version_is_the_changelogs_newest_release() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    releases = re.findall(r"(?m)^## \[?([\d.]+)\]? - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text("utf-8"))
    assert releases[0] == version
    assert releases == sorted(releases, key=lambda each: [int(part) for part in each.split(".")], reverse=True)


@pytest.mark.slow
def test_a_skipped_test_fails_the_run_with_its_reason(tmp_path: Path) -> None:
    """This also applies when tests are distributed over processes, as by `make test`."""
    (tmp_path / "test_some.py").write_text("import pytest\n\ndef test_it():\n    pytest.skip('a tool is missing')\n")
    options = ["-ra", "-c", "/dev/null", "--rootdir", str(tmp_path), "-p", "tests.conftest", "--numprocesses", "1"]
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert "a tool is missing" in done.stdout
