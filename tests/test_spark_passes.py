"""The lease that keeps a pass alone on storage that has no locks; `test_spark_silver_gold` has passes that meet."""

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.errors import LakeUnavailable
from headwater.spark.delta.storage_place import StoragePlace
from headwater.spark.one_pass import LEASE_S, leased, leases
from tests.spark_noise import SPARK_NOISE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), *SPARK_NOISE]


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path) -> StoragePlace:
    return StoragePlace(spark, str(tmp_path / "lease"))


def test_a_lease_refuses_others_for_as_long_as_it_is_prolonged(place: StoragePlace) -> None:
    with leased(place, "lake", lease_s=0.4):
        (held,) = leases(place)
        began = place.changed_s(held)
        while place.changed_s(held) < began + 1:
            with pytest.raises(LakeUnavailable, match="Another pass works in lake"), leased(place, "lake", lease_s=0.4):
                pass
    assert leases(place) == []
    with leased(place, "lake"):
        assert leases(place) == [held]


def test_a_lease_that_nobody_prolongs_is_taken_over_by_one(place: StoragePlace) -> None:
    place.write("0000000007", "a pass that was killed")
    file = Path(place.local) / "0000000007"
    with pytest.raises(LakeUnavailable), leased(place, "lake"):
        pass
    os.utime(file, (file.stat().st_atime, file.stat().st_mtime - LEASE_S - 1))
    with leased(place, "lake"):
        assert leases(place) == ["0000000008"]
        assert not place.create("0000000008", "a second one that saw it end"), "it comes too late"
        with pytest.raises(LakeUnavailable), leased(place, "lake"):
            pass
    assert leases(place) == []
