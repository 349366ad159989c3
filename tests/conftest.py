"""A skipped test fails the run: nothing here may be left out silently."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.azurite import Storage
    from tests.kafka_broker import Broker


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
