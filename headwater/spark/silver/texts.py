"""Values of the rules as text in flat columns, and back; a text that comes again is read once."""

import hashlib
from collections.abc import Iterable
from typing import Generic, TypeVar

import msgspec

from headwater.events.facet_digests import Memo
from headwater.lineage.edges.edge_sets import Reported
from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.commit_proofs import CommitProof, CommitProofs
from headwater.lineage.runs.run_facts import RunFacts

T = TypeVar("T")


class Reading(Generic[T]):
    """Decodes one kind of text; recurring texts cost a look-up."""

    def __init__(self, kind: type[T]):
        """Remember nothing yet."""
        self._decoder = msgspec.json.Decoder(kind)
        self._memo: Memo[T] = Memo()

    def __call__(self, text: str) -> T:
        """Return the value. It is shared: do not change it."""
        raw = text.encode()
        return self._memo.get(raw) or self._memo.put(raw, self._decoder.decode(raw))


_facts = msgspec.json.Decoder(list[RunFacts])
_encoder = msgspec.json.Encoder()


def facts_text(facts: Iterable[RunFacts]) -> str:
    """Return parts as text."""
    return _encoder.encode(list(facts)).decode()


def read_facts(text: str) -> list[RunFacts]:
    """Return the parts of a text."""
    return _facts.decode(text)


def text_of(value: object) -> str:
    """Return any value of the rules as JSON."""
    return _encoder.encode(value).decode()


def key_of(*facts: str | None) -> str:
    """Return a short key for what several texts name together."""
    return digest_of(facts)


def digest_of(value: object) -> str:
    """Return a short digest of any value of the rules."""
    return hashlib.sha256(_encoder.encode(value)).hexdigest()[:32]


read_said = Reading(list[tuple[str, str, str, str]])
read_names = Reading(list[Name])
read_reported = Reading(Reported)
read_contribution = Reading(OutputLineage)


class _ProofRow(msgspec.Struct, frozen=True):
    """A row of `COMMIT_PROOFS`."""

    run_id: str
    dataset_namespace: str
    dataset_name: str
    is_whole: bool


_read_proofs = Reading(list[_ProofRow])


def proofs_of(rows: str | None) -> CommitProofs:
    """Return what rows of `COMMIT_PROOFS`, as JSON, say; nothing for none."""
    return CommitProofs(
        CommitProof(row.run_id, Name(row.dataset_namespace, row.dataset_name), row.is_whole)
        for row in (_read_proofs(rows) if rows else ())
    )
