"""Distribute test files over the processes of pytest-xdist. New tests need no entry here.

- All tests of a file run in one process.
- Files that request the same expensive session fixture (`SHARED`) run in one process, so that it is created once.
- The files below `tests/spark/transfer/` and those that use `lake_of_cases` have a second Spark session, so that two
  processes share the Spark tests about equally.
- Spark tests start first, then slow files in the order of their `timeout`, and quick files last.
"""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.paths import TESTS

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

SHARED = (
    "lake_of_cases", "passed_lake", "spark", "connectors", "kafka", "shop_to_read", "marquez_to_read", "keyed_to_read",
)  # fmt: skip
"""Session fixtures that start a process or fill a lake."""

SAME_PROCESS = {"lake_of_cases": "spark_2", "passed_lake": "spark", "keyed_to_read": "shop_to_read"}
"""Fixtures whose files join the process of another one."""

SECOND_SPARK = TESTS / "spark" / "transfer"

_SLOW_FILE = re.compile(r"^pytestmark = (\[[^]]*)?pytest\.mark\.slow\b", re.MULTILINE)


def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "LoadScopeScheduling":
    """Return a scheduler that gives each process whole groups of files.

    `loadgroup` of pytest-xdist 3.8 has no effect with pytest 9.2, in which a test's id cannot be changed.
    """
    from xdist.scheduler import LoadScopeScheduling

    class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
        def _split_scope(self, nodeid: str) -> str:
            return _group(config.rootpath / nodeid.split("::", 1)[0])

    return GroupScheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort tests: Spark first, then slow files by their time limit, then quick ones."""
    groups = {item: _group(item.path) for item in items}
    limits: dict[str, float] = {}
    for item, group in groups.items():
        if item.get_closest_marker("slow"):
            limit = item.get_closest_marker("timeout")
            limits[group] = max(limits.get(group, 0), limit.args[0] if limit else 0)
    items.sort(key=lambda item: (not groups[item].startswith("spark"), -limits.get(groups[item], -1)))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files that contain only slow tests if these are not selected: they import Spark and cloud SDKs."""
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if is_test and "not slow" in config.option.markexpr and _is_slow(collection_path) else None


def _is_slow(file: Path) -> bool:
    return bool(_SLOW_FILE.search(_text(file)))


@cache
def _text(file: Path) -> str:
    return file.read_text("utf-8")


@cache
def _group(file: Path) -> str:
    """Return the name of the group of files that run in one process; a file without a shared fixture is its own."""
    fixture = next((name for name in SHARED if f"{name}: " in _text(file)), None)
    if fixture is None:
        return str(file)
    group = SAME_PROCESS.get(fixture, fixture)
    return "spark_2" if group == "spark" and SECOND_SPARK in file.parents else group
