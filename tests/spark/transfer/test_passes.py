"""What passes rest on: a lease on storage that has no locks, names of Java; `test_spark_silver_gold` has passes."""

import logging
import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headwater.common.errors import LakeUnavailable
from headwater.spark.delta.storage_place import StoragePlace
from headwater.spark.java_names import cache_java_names
from headwater.spark.one_pass import LEASE_S, hold_lease, lease_names
from tests.support.spark.spark_noise import SPARK_NOISE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), *SPARK_NOISE]


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path) -> StoragePlace:
    return StoragePlace(spark, str(tmp_path / "lease"))


def test_a_lease_refuses_others_for_as_long_as_it_is_prolonged(place: StoragePlace) -> None:
    with hold_lease(place, "lake", lease_s=0.4):
        (held,) = lease_names(place)
        began = place.modified_s(held)
        while place.modified_s(held) < began + 1:
            with (
                pytest.raises(LakeUnavailable, match="running in lake"),
                hold_lease(place, "lake", lease_s=0.4),
            ):
                pass
    assert lease_names(place) == []
    with hold_lease(place, "lake"):
        assert lease_names(place) == [held]


def test_a_lease_that_nobody_prolongs_is_taken_over_by_one(place: StoragePlace) -> None:
    place.write("0000000007", "a pass that was killed")
    file = Path(place.local) / "0000000007"
    with pytest.raises(LakeUnavailable), hold_lease(place, "lake"):
        pass
    os.utime(file, (file.stat().st_atime, file.stat().st_mtime - LEASE_S - 1))
    with hold_lease(place, "lake"):
        assert lease_names(place) == ["0000000008"]
        assert not place.create("0000000008", "a second one that saw it end"), "it comes too late"
        with pytest.raises(LakeUnavailable), hold_lease(place, "lake"):
            pass
    assert lease_names(place) == []


def test_names_of_java_are_asked_for_once(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    cache_java_names(spark)
    with caplog.at_level(logging.DEBUG, "py4j"):
        spark.range(1).select(F.concat(F.lit("a"), F.col("id").cast("string"))).count()
    said = [record.getMessage() for record in caplog.records]
    assert [text for text in said if text.startswith(ASKED + MEMBER)]
    assert [text for text in said if text.startswith(ASKED + UNKNOWN)] == []


ASKED, UNKNOWN, MEMBER = "Command to send: r\n", "u\n", "m\n"
"""What py4j logs of a question that it sends to Java: what a name is, what of a class a name is."""
