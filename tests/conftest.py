"""Fixtures that all tests share. A skipped test fails the run."""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.cleanup import OPENED
from tests.support.scheduling import (  # hooks of pytest  # noqa: F401
    pytest_collection_modifyitems,
    pytest_ignore_collect,
    pytest_xdist_make_scheduler,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.data.shop import Asker
    from tests.support.data.sink_world import SinkWorld
    from tests.support.servers.azurite import Storage
    from tests.support.servers.kafka_broker import Broker
    from tests.support.servers.sink_target import SinkServer
    from tests.support.spark.connector_session import Connected
    from tests.support.spark.passed_lake import PassedLake
    from tests.support.spark.spark_cases import LakeOfCases


QUICK_JAVA = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote -XX:MetaspaceSize=512m -Xms1g -Xmn600m"
"""Class verification took 5 of the first 30 s of CPU, and a small initial heap caused four full collections."""

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's `&` ignores it for all that it starts: what a test ends by Ctrl-C would inherit that, and never end.
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.pop("COLUMNS", None)  # of the terminal that runs the tests: printed tables would follow its width

gc.disable()  # until all tests are collected: what they import stays


def pytest_collection_finish(session: pytest.Session) -> None:
    """Let the collector look at what tests make, and not at thousands of tests again and again."""
    gc.freeze()
    gc.enable()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Turn a green run with skips into a red one; the reasons are printed by `-ra`."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and reporter.stats.get("skipped") and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def close_what_was_opened() -> Iterator[None]:
    """Close what nobody else does."""
    yield
    OPENED.close()


@pytest.fixture(scope="session")
def storage() -> "Iterator[Storage]":
    """Give Azure's storage, as far as Azurite is it."""
    from tests.support.servers.azurite import Storage

    with Storage() as started:
        yield started


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Broker]":
    """Give a Kafka broker; who kills it starts it again, and who wants an empty topic makes one."""
    from tests.support.servers.kafka_broker import running_broker

    with running_broker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """Give the one Spark session of a test run."""
    from headwater.spark.session import CONF, local_session

    java = "spark.driver.extraJavaOptions"
    more = {
        "spark.sql.maxMetadataStringLength": "1000",  # whole paths of the files that a plan reads
        java: f"{CONF[java]} {QUICK_JAVA}",
    }
    with local_session(2, more, streams=True) as session:
        yield session


@pytest.fixture(scope="session")
def lake_of_cases(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> "LakeOfCases":
    """Give silver and gold of worlds and cases of several files, which read of it what is theirs."""
    from tests.support.spark import spark_cases

    return spark_cases.LakeOfCases(spark, tmp_path_factory.mktemp("cases"))


@pytest.fixture(scope="session")
def passed_lake(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> "PassedLake":
    """Give a lake after several passes, of which files ask what is theirs."""
    from tests.support.spark.passed_lake import PassedLake

    return PassedLake(spark, tmp_path_factory.mktemp("passed"))


@pytest.fixture(scope="session")
def connectors(tmp_path_factory: pytest.TempPathFactory) -> "Callable[[str], Connected]":
    """Run one Spark session for each requested listener, with our connector and Iceberg's."""
    from tests.support.spark.connector_session import connected

    return cache(lambda listener: connected(tmp_path_factory.mktemp("connector") / listener, listener))


@pytest.fixture(scope="session")
def shop_to_read(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Asker]":
    """Give a running Headwater with the shop's events; what a test adds is about none of their names."""
    from tests.support.data.shop import EVENTS, Asker, up

    with up(tmp_path_factory.mktemp("shop") / "data") as running, Asker(running.url) as asker:
        asker.post(*EVENTS)
        yield asker


@pytest.fixture(scope="session")
def keyed_to_read(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[str]":
    """Return the address of a running Headwater with the keys of `tests/support/data/keyed.py` and an empty lake."""
    from tests.support.data.keyed import keyed

    with keyed(tmp_path_factory.mktemp("keyed") / "data") as running:
        yield running.url


@pytest.fixture
def usual_umask() -> Iterator[None]:
    """Let files be readable by all unless we see to it, as on most machines."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def server() -> "Iterator[SinkServer]":
    """Where sinks deliver to."""
    from tests.support.servers.sink_target import sink_server

    with sink_server() as server:
        yield server


@pytest.fixture
def world(tmp_path: Path) -> "SinkWorld":
    """Make a log, a lake and a parser, with a sink."""
    from tests.support.data.sink_world import SinkWorld

    return SinkWorld(tmp_path)
