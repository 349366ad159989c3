"""Numbers in the facets of datasets, from values as producers send them."""

from typing import Any

import pytest

from headwater.events.statistics_facets import (
    MAX_COLUMNS,
    MEASURED,
    READ,
    WRITTEN,
    decode_numbers,
    encode_numbers,
    numbers_in,
)

COMMIT = {
    "commitMetrics": {
        "addedRecords": 5,
        "addedFilesSizeInBytes": 900,
        "addedDataFiles": 1,
        "totalRecords": 50,
        "totalFilesSizeInBytes": 9_000.0,
        "totalDataFiles": 10,
    }
}


@pytest.mark.parametrize(
    ("facets", "numbers"),
    [
        ({}, ()),
        ({"outputStatistics": {"rowCount": 3, "size": 963, "fileCount": 1}}, ((WRITTEN, 3, 963, 1, {}),)),
        ({"outputStatistics": {"rowCount": 0}}, ((WRITTEN, 0, None, None, {}),)),
        ({"inputStatistics": {"size": 10.0}}, ((READ, None, 10, None, {}),)),
        ({"outputStatistics": {"rowCount": "3", "size": True, "fileCount": float("inf")}}, ()),
        ({"outputStatistics": {"rowCount": 10**30}}, ()),
        ({"outputStatistics": None}, ()),
        ({"icebergCommitReport": COMMIT}, ((WRITTEN, 5, 900, 1, {}), (MEASURED, 50, 9_000, 10, {}))),
        (
            {"icebergCommitReport": COMMIT, "outputStatistics": {"rowCount": 7}},
            ((WRITTEN, 7, 900, 1, {}), (MEASURED, 50, 9_000, 10, {})),
        ),
        (
            {"icebergScanReport": {"scanMetrics": {"resultDataFiles": 2, "totalFileSizeInBytes": 8}}},
            ((READ, None, 8, 2, {}),),
        ),
        (
            {"dataQualityMetrics": {"rowCount": 9, "columnMetrics": {"a": {"nullCount": 1, "min": 0.5}, "b": {}}}},
            ((MEASURED, 9, None, None, {"a": (1, None, 0.5, None)}),),
        ),
        ({"dataQualityMetrics": {"columnMetrics": [1]}}, ()),
        ({"outputStatistics": {"rowCount": -1, "size": -1, "fileCount": 2}}, ((WRITTEN, None, None, 2, {}),)),
        ({"inputStatistics": {"rowCount": -1}}, ()),
        (
            {"icebergCommitReport": {"commitMetrics": {"addedRecords": 5}}, "outputStatistics": {"rowCount": -1}},
            ((WRITTEN, 5, None, None, {}),),
        ),
        (
            {"dataQualityMetrics": {"columnMetrics": {"a": {"nullCount": -1, "distinctCount": -1, "min": -3}}}},
            ((MEASURED, None, None, None, {"a": (None, None, -3, None)}),),
        ),
    ],
)
def test_numbers_come_from_the_facets_that_producers_send(facets: dict[str, Any], numbers: Any) -> None:
    assert numbers_in(facets) == numbers
    if numbers:
        assert [tuple(each[1:]) for each in decode_numbers(encode_numbers([(), numbers]))] == [*numbers]
        assert {each[0] for each in decode_numbers(encode_numbers([(), numbers]))} == {1}


def test_an_event_has_numbers_of_at_most_300_columns() -> None:
    columns = {f"c{number:04}": {"nullCount": 1} for number in range(MAX_COLUMNS + 5)}
    ((*_, found),) = numbers_in({"dataQualityMetrics": {"columnMetrics": columns}})
    assert len(found) == MAX_COLUMNS
