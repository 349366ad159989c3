"""The rules version is the same for the same code in any location, and changes with the code that determines rows."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import grimp
import pytest

from headwater.lineage.rules.rule_code import EXCLUDED_MODULES, ROOT_MODULES, rule_sources
from headwater.lineage.rules.user_rules import UserRules
from tests.support.paths import ROOT
from tools.function_zip import write_package
from tools.functions_env import environment

_SAY = "from headwater.lineage.rules.user_rules import UserRules; print(UserRules().rules_hash)"
_MORE = "  - {id: more, why: two stores are one, namespace: 'zz://{x}', to_namespace: 'zy://{x}'}\n"


def version_in(place: Path, interpreter: str = sys.executable) -> str:
    """Ask a process that imports Headwater from a folder or an archive."""
    asked = subprocess.run(
        [interpreter, "-c", f"{_SAY}; import headwater; print(headwater.__file__)"],
        env={**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}, cwd=place.parent,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    version, file = asked.stdout.splitlines()
    assert file.startswith(str(place))
    return version


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Provide a folder with a copy of our sources."""
    shutil.copytree(ROOT / "headwater", tmp_path / "copy" / "headwater", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "copy"


@pytest.mark.slow
def test_an_editable_install_and_another_systems_line_ends_make_one_version(copy: Path) -> None:
    for source in copy.rglob("*.py"):
        source.write_bytes(source.read_bytes().replace(b"\n", b"\r\n"))
    assert version_in(copy) == UserRules().rules_hash


@pytest.mark.slow
def test_an_archive_as_spark_hands_to_its_workers_makes_the_same_version(copy: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "headwater.whl", "w") as wheel:
        for file in copy.rglob("*"):
            wheel.write(file, file.relative_to(copy))
    assert version_in(tmp_path / "headwater.whl") == UserRules().rules_hash


@pytest.mark.slow
def test_the_function_app_on_its_python_has_the_same_version(tmp_path: Path) -> None:
    write_package(tmp_path / "app.zip")
    with zipfile.ZipFile(tmp_path / "app.zip") as package:
        package.extractall(tmp_path / "app")
    assert version_in(tmp_path / "app", str(environment())) == UserRules().rules_hash


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [
        "lineage/edges/edge_sets",
        "events/times",
        "index/writing/indexer",
        "spark/gold/open_candidates",
        "tables/silver",
    ],
)
def test_a_change_of_what_decides_rows_is_another_version(copy: Path, module: str) -> None:
    file = copy / "headwater" / f"{module}.py"
    assert file.exists()
    with file.open("a") as source:
        source.write("\n_CHANGED = 1\n")
    assert version_in(copy) != UserRules().rules_hash


@pytest.mark.parametrize(
    "module",
    ["api/audit", "index/reading/search", "spark/notebook/plots", "lake/arrow_batches", "common/errors"],
)
def test_a_change_of_what_only_reads_or_says_is_none(copy: Path, module: str) -> None:
    file = copy / "headwater" / f"{module}.py"
    assert file.exists()
    with file.open("a") as source:
        source.write("\n_CHANGED = 1\n")
    assert version_in(copy) == UserRules().rules_hash


def test_a_change_of_the_shipped_rules_for_names_is_another_version(copy: Path) -> None:
    file = copy / "headwater" / "lineage" / "names" / "names.yaml"
    file.write_text(file.read_text("utf-8") + _MORE)
    assert version_in(copy) != UserRules().rules_hash


def test_every_module_that_the_derivation_imports_counts() -> None:
    graph = grimp.build_graph("headwater")
    for module in [name for name in graph.modules if name.startswith(EXCLUDED_MODULES)]:
        graph.remove_module(module)
    assert set(rule_sources()) == set(ROOT_MODULES).union(*map(graph.find_upstream_modules, ROOT_MODULES))
