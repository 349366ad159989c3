"""A skipped test fails the run: nothing here may be left out silently."""

import gc
import os
import re
import signal
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.until_end import OPENED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

    from tests.azurite import Storage
    from tests.connecting import Connected
    from tests.kafka_broker import Broker
    from tests.passed_lake import PassedLake
    from tests.shop import Asker
    from tests.sink_server import SinkServer
    from tests.sinking import SinkWorld
    from tests.spark_cases import LakeOfCases


SHARED = ("lake_of_cases", "passed_lake", "spark", "connectors", "shop_to_read", "marquez_to_read", "keyed_to_read")
"""What is started once, for all tests that ask for it: their files run in one process."""

SECOND = {f"test_spark_{name}" for name in ("ingest", "passes", "replay", "stream")}
"""Files of a second Spark beside the first, with those of `lake_of_cases`: halves that take about as long."""

QUICK_JAVA = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote -XX:MetaspaceSize=512m -Xms1g -Xmn600m"
"""Class verification took 5 of the first 30 s of CPU, and a small initial heap caused four full collections."""

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's `&` ignores it for all that it starts: what a test ends by Ctrl-C would inherit that, and never end.
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.pop("COLUMNS", None)  # of the terminal that runs the tests: printed tables would follow its width

gc.disable()  # until all tests are collected: what they import stays

_SLOW_FILE = re.compile(r"^pytestmark = (\[[^]]*)?pytest\.mark\.slow\b", re.MULTILINE)


def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "LoadScopeScheduling":
    """Give a process whole files, and files that share what is started once together.

    Scheduling of pytest-xdist 3.8 by marks (`loadgroup`) does nothing under pytest 9.2: a test's id cannot be changed.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
        def _split_scope(self, nodeid: str) -> str:
            return _group(config.rootpath / nodeid.split("::", 1)[0])

    return Together(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let Spark's tests begin first, then files of slow ones, by how long they may take; quick ones fill the end."""
    groups = {item: _group(item.path) for item in items}
    longest: dict[str, float] = {}
    for item, group in groups.items():
        if item.get_closest_marker("slow"):
            limit = item.get_closest_marker("timeout")
            longest[group] = max(longest.get(group, 0), limit.args[0] if limit else 0)
    items.sort(key=lambda item: (not groups[item].startswith("spark"), -longest.get(groups[item], -1)))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Pass over files of slow tests alone where none is wanted: they import Spark, SDKs of clouds and the like."""
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if is_test and "not slow" in config.option.markexpr and _is_slow(collection_path) else None


def _is_slow(file: Path) -> bool:
    return bool(_SLOW_FILE.search(_text(file)))


@cache
def _text(file: Path) -> str:
    return file.read_text("utf-8")


@cache
def _group(file: Path) -> str:
    text = _text(file)
    found = next((shared for shared in SHARED if f"{shared}: " in text), file.stem)
    found = {"lake_of_cases": "spark_2", "passed_lake": "spark", "keyed_to_read": "shop_to_read"}.get(found, found)
    return "spark_2" if found == "spark" and file.stem in SECOND else found


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
    from tests import spark_cases

    return spark_cases.LakeOfCases(spark, tmp_path_factory.mktemp("cases"))


@pytest.fixture(scope="session")
def passed_lake(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> "PassedLake":
    """Give a lake after several passes, of which files ask what is theirs."""
    from tests.passed_lake import PassedLake

    return PassedLake(spark, tmp_path_factory.mktemp("passed"))


@pytest.fixture(scope="session")
def connectors(tmp_path_factory: pytest.TempPathFactory) -> "Callable[[str], Connected]":
    """Run one Spark session for each listener that is asked for, with our connector and Iceberg's."""
    from tests.connecting import connected

    return cache(lambda listener: connected(tmp_path_factory.mktemp("connector") / listener, listener))


@pytest.fixture(scope="session")
def shop_to_read(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Asker]":
    """Give a running Headwater with the shop's events; what a test adds is about none of their names."""
    from tests.shop import EVENTS, Asker, up

    with up(tmp_path_factory.mktemp("shop") / "data") as running, Asker(running.url) as asker:
        asker.post(*EVENTS)
        yield asker


@pytest.fixture(scope="session")
def keyed_to_read(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[str]":
    """Give the address of a running Headwater that has the keys of `tests/keyed.py`, and nothing in its lake."""
    from tests.keyed import keyed

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
    from tests.sink_server import sink_server

    with sink_server() as server:
        yield server


@pytest.fixture
def world(tmp_path: Path) -> "SinkWorld":
    """Make a log, a lake and a parser, with a sink."""
    from tests.sinking import SinkWorld

    return SinkWorld(tmp_path)
