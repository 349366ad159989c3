"""The wheel in a new environment: install it, run its demo twice, upgrade and uninstall it, and check its metadata."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import venv
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tools.build_metadata import with_absolute_links

GITHUB = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "acme/headwater",
    "GITHUB_REF_NAME": "v9.9.9",
}
OLDER = "0.1.0"


def test_links_and_images_of_the_readme_are_absolute_on_an_index_page() -> None:
    text = "[a](docs/a.md#b) ![c](docs/c.png) [![d](d.png)](e.md) [f](https://f.org) [g](#g)"
    at = "https://github.com/acme/headwater"
    assert with_absolute_links(text, at, "v1") == (
        f"[a]({at}/blob/v1/docs/a.md#b) ![c]({at}/raw/v1/docs/c.png) "
        f"[![d]({at}/raw/v1/d.png)]({at}/blob/v1/e.md) [f](https://f.org) [g](#g)"
    )


@pytest.mark.slow
def test_a_wheel_of_the_release_workflow_has_the_metadata_of_an_index_page(tmp_path: Path) -> None:
    found = metadata(build(ROOT, tmp_path, GITHUB))
    assert {"Documentation", "Source", "Issues", "Changelog"} == {
        each.partition(",")[0] for each in found.get_all("Project-URL", [])
    }
    assert found["Author"]
    assert found["Keywords"]
    assert "Topic :: Database" in found.get_all("Classifier", [])
    page = str(found.get_payload())
    assert "https://github.com/acme/headwater/raw/v9.9.9/docs/images/" in page
    assert not re.search(r"\]\((?!https?:|#)", page)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_wheel_is_installed_its_demo_run_upgraded_and_uninstalled(tmp_path: Path) -> None:
    """This test needs a package index. It prints the transcript, the installed size and the time to the
    first answer.
    """
    wheel, older = build(ROOT, tmp_path / "new", {}), build(_older(tmp_path / "source"), tmp_path / "old", {})
    bare = tmp_path / "environment"
    venv.create(bare, with_pip=True)
    packages = next(bare.glob("lib/python*/site-packages"))
    before = {path.name for path in packages.iterdir()}

    _step(bare, "pip", "install", "--quiet", f"{older}[server]")
    assert _step(bare, "headwater", "--version") == f"headwater {OLDER}\n"
    size = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file())
    sys.stdout.write(f"installed size: {size / 1e6:.0f} MB\n")

    data = tmp_path / "data"
    first = _step(bare, "headwater", "demo", "--data", str(data), "--port", "0", "--exit")
    again = _step(bare, "headwater", "demo", "--data", str(data), "--port", "0", "--exit")
    assert "This folder already has the recorded events" in again
    assert _tables(again) == _tables(first)

    _step(bare, "pip", "install", "--quiet", f"{wheel}[server]")
    assert _step(bare, "headwater", "--version") != f"headwater {OLDER}\n"
    upgraded = _step(bare, "headwater", "demo", "--data", str(data), "--port", "0", "--exit")
    assert _tables(upgraded) == _tables(first)
    audit = json.loads(_step(bare, "headwater", "audit", "--data", str(data), "--json"))
    assert (audit["balanced"], audit["duplicates"], audit["rejected"], audit["lost"]) == (True, 0, 0, 0)

    _step(bare, "pip", "uninstall", "--quiet", "--yes", "headwater")
    assert not (bare / "bin" / "headwater").exists()
    left = {path.name for path in packages.iterdir()} - before
    assert not {name for name in left if name.startswith("headwater")}
    assert data.exists()


def build(source: Path, target: Path, environment: dict[str, str]) -> Path:
    """Build the wheel of a source tree. Returns its path."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    subprocess.run([*command, str(target), str(source)], check=True, env=known | environment)
    return next(target.glob("headwater-*.whl"))


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as packed:
        name = next(each for each in packed.namelist() if each.endswith(".dist-info/METADATA"))
        return Parser().parsestr(packed.read(name).decode())


def _older(target: Path) -> Path:
    """Copy the sources of the wheel, with a lower version number."""
    ignored = shutil.ignore_patterns("__pycache__", "node_modules")
    for name in ("headwater", "tools"):
        shutil.copytree(ROOT / name, target / name, ignore=ignored)
    for name in ("README.md", "LICENSE"):
        shutil.copy(ROOT / name, target)
    project = (ROOT / "pyproject.toml").read_text()
    (target / "pyproject.toml").write_text(re.sub(r'^version = ".*"$', f'version = "{OLDER}"', project, flags=re.M))
    return target


def _step(environment: Path, program: str, *arguments: str) -> str:
    """Run a program of an environment without our variables, and return and print its output."""
    clean = {"PATH": os.environ["PATH"], "HOME": str(environment.parent)}
    clean |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP", "http"))}
    command = [str(environment / "bin" / program), *arguments]
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=clean, cwd=environment.parent)
    sys.stdout.write(f"$ {program} {' '.join(arguments)}\n{done.stdout}({time.monotonic() - started:.1f} s)\n")
    assert done.returncode == 0, done.stderr
    return done.stdout


def _tables(printed: str) -> list[str]:
    """Return the rows of the tables without durations, which change over time."""
    rows = [line for line in printed.splitlines() if line.startswith("│")]
    return [re.sub(r" +", " ", re.sub(r"late by [^,]+", "late", row)) for row in rows]
