"""A skipped test fails the run: nothing here may be left out silently."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.azurite import Storage
    from tests.kafka_broker import Broker
    from tests.shop import Asker


SHARED = ("spark", "shop_to_read", "marquez_to_read")
"""What is started once, for all tests that ask for it: they run in one process."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say which tests one process takes together, and which begin first.

    A file's tests share what they started, and so do all that ask for one of SHARED. Spark's take longest, so they
    begin at once; files of slow tests follow, and the quick ones fill what is left at the end.
    """
    groups = {item: _group(item) for item in items}
    slow = {group for item, group in groups.items() if item.get_closest_marker("slow")}
    for item, group in groups.items():
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: 0 if groups[item] == "spark" else 1 if groups[item] in slow else 2)


def _group(item: pytest.Item) -> str:
    asked = getattr(item, "fixturenames", ())
    return next((shared for shared in SHARED if shared in asked), item.path.stem)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Turn a green run with skips into a red one; the reasons are printed by `-ra`."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and reporter.stats.get("skipped") and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def storage() -> "Iterator[Storage]":
    """Give Azure's storage, as far as Azurite is it."""
    from tests.azurite import Storage

    with Storage() as started:
        yield started


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Broker]":
    """Give a Kafka broker; who kills it starts it again, and who wants an empty topic makes one."""
    from tests.kafka_broker import running_broker

    with running_broker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """Give the one Spark session of a test run."""
    from headwater.spark.session import local_session

    whole_paths = {"spark.sql.maxMetadataStringLength": "1000"}  # of files that a plan reads
    with local_session(2, whole_paths, streams=True) as session:
        yield session


@pytest.fixture(scope="session")
def shop_to_read(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Asker]":
    """Give a running Headwater with the shop's events; what a test adds is about none of their names."""
    from tests.shop import EVENTS, Asker, up

    with up(tmp_path_factory.mktemp("shop") / "data") as running, Asker(running.url) as asker:
        asker.post(*EVENTS)
        yield asker
