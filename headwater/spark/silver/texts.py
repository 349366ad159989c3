"""Encode the values that the rules use as JSON, to store them in text columns, and decode this JSON."""

import hashlib
from collections.abc import Iterable
from typing import Generic, TypeVar

import msgspec

from headwater.events.facet_digests import Memo
from headwater.lineage.edges.edge_sets import ReportedDatasets
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.commit_proofs import CommitProof, CommitProofs
from headwater.lineage.runs.run_facts import RunFacts

T = TypeVar("T")


class CachedDecoder(Generic[T]):
    """Decodes JSON to one type. Caches the decoded values, because the same texts recur."""

    def __init__(self, kind: type[T]):
        self._decoder = msgspec.json.Decoder(kind)
        self._memo: Memo[T] = Memo()

    def __call__(self, text: str) -> T:
        """Return the value of a JSON text. Callers share the value and must not change it."""
        raw = text.encode()
        return self._memo.get(raw) or self._memo.put(raw, self._decoder.decode(raw))


_facts = msgspec.json.Decoder(list[RunFacts])
_encoder = msgspec.json.Encoder()


def facts_text(facts: Iterable[RunFacts]) -> str:
    """Encode facts as JSON."""
    return _encoder.encode(list(facts)).decode()


def read_facts(text: str) -> list[RunFacts]:
    """Decode the JSON of `facts_text`."""
    return _facts.decode(text)


def json_text(value: object) -> str:
    """Encode a value as JSON."""
    return _encoder.encode(value).decode()


def digest_of_texts(*facts: str | None) -> str:
    """Return a digest of several texts, as a key with a fixed length."""
    return digest_of(facts)


def digest_of(value: object) -> str:
    """Return the first 32 hex digits of the SHA-256 of a value, encoded as JSON."""
    return hashlib.sha256(_encoder.encode(value)).hexdigest()[:32]


read_candidate_digests = CachedDecoder(list[tuple[str, str, str, str]])
read_names = CachedDecoder(list[Name])
read_reported = CachedDecoder(ReportedDatasets)
read_output_lineage = CachedDecoder(OutputLineage)


class _ProofRow(msgspec.Struct, frozen=True):
    """A row of `COMMIT_PROOFS`."""

    run_id: str
    dataset_namespace: str
    dataset_name: str
    is_whole: bool


_read_proofs = CachedDecoder(list[_ProofRow])


def proofs_of(rows: str | None) -> CommitProofs:
    """Decode rows of `COMMIT_PROOFS` from JSON. None means that there are no rows."""
    return CommitProofs(
        CommitProof(row.run_id, Name(row.dataset_namespace, row.dataset_name), row.is_whole)
        for row in (_read_proofs(rows) if rows else ())
    )
