"""Build the events of findings and proofs.

All findings of a comparison are in one event; the next comparison of the same name replaces it. Proofs from commits are
in separate events, which are never replaced, because a proof stays valid.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from uuid import NAMESPACE_URL, uuid5

import msgspec

from headwater.events.finding_facet import COMMITS, FACET, NAMESPACE, PREFIX
from headwater.events.rows import LONGEST_RUN_FACETS
from headwater.events.times import iso_time
from headwater.governance.reconcile.commit_join import WriteProof
from headwater.governance.reconcile.histories.entry import HistorySpan
from headwater.lineage.runs.commit_proofs import WHOLE_PROOF
from headwater.questions.answer_types.reports import Finding

PRODUCER = "urn:headwater:reconcile"
MAX_FINDINGS = 1_000
"""Maximum number of findings in an event; the event contains the newest findings, and the number of all in `total`."""

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"


def finding_event(name: str, found: Sequence[Finding], span: HistorySpan) -> bytes:
    """Return the JobEvent of a comparison, which may have no findings. found: the findings, oldest first."""
    facet = {
        "_producer": PRODUCER,
        "_schemaURL": f"{_SPEC}JobFacet",
        "since": iso_time(span.since_us),
        "until": iso_time(span.until_us),
        "total": len(found),
        "kinds": Counter(each.kind for each in found),
        "findings": found[-MAX_FINDINGS:],
    }
    return msgspec.json.encode(
        {
            "eventTime": iso_time(span.until_us),
            "producer": PRODUCER,
            "schemaURL": f"{_SPEC}JobEvent",
            "job": {"namespace": NAMESPACE, "name": f"{PREFIX}{name}", "facets": {FACET: facet}},
        }
    )


def proof_events(name: str, proofs: Sequence[WriteProof]) -> Iterator[bytes]:
    """Yield the events with proofs from commits.

    The events contain all proofs that a run did not rewrite the whole table, and the newest `MAX_FINDINGS` proofs that
    a
    run did. An event contains proofs about writes of one hour. It has the time of the earliest write, so that it counts
    at every moment at which one of the writes counts. The same proofs produce the same events.
    """
    oldest = sorted(proofs, key=_proof_order)
    whole = [each for each in oldest if each.proves == WHOLE_PROOF][-MAX_FINDINGS:]
    selected = sorted([*(each for each in oldest if each.proves != WHOLE_PROOF), *whole], key=_proof_order)
    for _, some in groupby(selected, key=lambda each: each.run.until_us // _HOUR_US):
        yield from _proof_events(name, list(some))


def _proof_events(name: str, proofs: Sequence[WriteProof]) -> Iterator[bytes]:
    """Yield events with facets that are small enough for a column of their own in bronze, which Spark reads."""
    some: list[WriteProof] = []
    size = 0
    for proof in proofs:
        length = len(msgspec.json.encode(_to_json(proof))) + 1
        if some and size + length > _FACET_BYTES:
            yield _proof_event(name, some)
            some, size = [], 0
        some.append(proof)
        size += length
    yield _proof_event(name, some)


def _proof_event(name: str, proofs: Sequence[WriteProof]) -> bytes:
    facet = {
        "_producer": PRODUCER,
        "_schemaURL": f"{_SPEC}RunFacet",
        "commits": [_to_json(proof) for proof in proofs],
    }
    run_id = uuid5(NAMESPACE_URL, f"{PRODUCER}:{name}:{msgspec.json.encode(facet).decode()}")
    return msgspec.json.encode(
        {
            "eventType": "COMPLETE",
            "eventTime": iso_time(proofs[0].run.until_us),
            "producer": PRODUCER,
            "schemaURL": f"{_SPEC}RunEvent",
            "run": {"runId": str(run_id), "facets": {COMMITS: facet}},
            "job": {"namespace": NAMESPACE, "name": f"{PREFIX}{name}"},
            "inputs": [],
            "outputs": [],
        }
    )


def _to_json(proof: WriteProof) -> dict[str, str | int | None]:
    name = {"namespace": proof.dataset.namespace, "name": proof.dataset.dataset}
    return {"run": proof.run.report.id, **name, "proves": proof.proves, "version": proof.version}


def _proof_order(proof: WriteProof) -> tuple[int, str, str, str]:
    return proof.run.until_us, proof.run.report.id, proof.dataset.namespace, proof.dataset.dataset


_HOUR_US = 3_600_000_000
_FACET_BYTES = LONGEST_RUN_FACETS - 400
