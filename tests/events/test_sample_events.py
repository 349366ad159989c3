"""Post every sample event of other projects and count the stored, duplicate, rejected and refused ones by file."""

from collections.abc import Iterator

import pytest

from tests.support.http_client import Gateway, running
from tests.support.paths import EVENTS

# Checked by hand against the three shapes of an event (docs/reference/api.md). The comment next to each file names the
# missing members of refused events.
STORED_AND_REFUSED: dict[str, tuple[int, int]] = {
    "compat-simple-run-event": (1, 0),  # `runId: "run_id"` and `producer: "producer"` are unusual but valid
    "compat-spark-dataproc-complete": (12, 0),
    "compat-spark-dataproc-simple": (4, 0),
    "fluentd-proxy": (9, 1),  # line 9: run.runId; the files named invalid are invalid only within facets
    "spark-3.5.7-listener-1.53.0": (314, 0),
    "spark-cli": (0, 4),  # lines 1, 3, 4: run.runId; line 2: eventTime
    "spark-docs-quickstart": (1, 0),
    "spec-docs-examples": (12, 11),  # lines 1, 3: producer; lines 2 and 4 to 11: eventTime
    "spec-facet-examples": (0, 46),  # facets without an event around them
    "spec-full-event": (5, 0),
    "spline-airflow-example": (2, 0),
}


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("samples") / "data") as started:
        yield started


def test_every_sample_file_is_counted_here() -> None:
    assert {path.stem for path in EVENTS.glob("*.ndjson")} == STORED_AND_REFUSED.keys()


@pytest.mark.parametrize("name", STORED_AND_REFUSED)
def test_each_file_is_stored_and_refused_as_counted_and_a_second_time_all_duplicates(
    gateway: Gateway, name: str
) -> None:
    stored, refused = STORED_AND_REFUSED[name]
    lines = (EVENTS / f"{name}.ndjson").read_bytes().splitlines()
    assert len(lines) == stored + refused
    before = gateway.settled()
    with gateway.client() as client:
        statuses = [client.post("/api/v1/lineage", content=line).status_code for line in lines]
        assert (statuses.count(200), statuses.count(400)) == (stored, refused)
        assert grown(before, first := gateway.settled()) == counts(stored=stored, refused=refused)
        again = client.post("/api/v1/lineage/batch", content=b"[" + b",".join(lines) + b"]")
        assert again.status_code == (200 if refused else 204)
        assert grown(first, gateway.settled()) == counts(duplicates=stored, refused=refused)


def counts(*, stored: int = 0, duplicates: int = 0, refused: int = 0) -> dict[str, int]:
    """Return the expected growth of the audit's counts. No event may be rejected or still pending."""
    return {
        "received": stored + duplicates, "stored": stored, "removed": 0, "duplicates": duplicates, "rejected": 0,
        "refused": refused, "pending": 0, "lost": 0, "balanced": 0,
    }  # fmt: skip


def grown(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """Check that two audits balance, and return their difference."""
    assert before["balanced"]
    assert after["balanced"]
    return {name: after[name] - before[name] for name in counts()}
