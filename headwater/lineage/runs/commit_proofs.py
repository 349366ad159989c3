"""Rule 6.7: read what commits of Delta tables prove about writes. `headwater reconcile` sends these proofs."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

from headwater.events.decode import decode
from headwater.events.finding_facet import COMMITS, NAMESPACE, PREFIX
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import run_id_of

_PROOF_PREFIX, _SEPARATOR = "proves", "\0"
"""The prefix of a write sign (`EventContent.write_signs`) with a proof, and the separator of the parts of the sign.

After the prefix follow `whole` or one of `PARTIAL_PROOFS`, the run id, and the namespace and name of the dataset.
"""

WHOLE_PROOF = "whole"
PARTIAL_PROOFS = ("append", "nothing", "part")
"""The kinds of proofs that a write is not a whole rewrite. The rules treat these kinds alike."""


class CommitProof(NamedTuple):
    """A proof about the write of one dataset by one run.

    run_id: the id of the run in lower case. dataset: a name that the events of the run use for the dataset.
    is_whole_rewrite: True if the commit replaced all rows, False if the commit proves the opposite.
    """

    run_id: str
    dataset: Name
    is_whole_rewrite: bool


class CommitProofs:
    """All known proofs, given in any order.

    If proofs about one write contradict each other, the write is not a whole rewrite.
    """

    def __init__(self, proofs: Iterable[CommitProof] = ()):
        self._by_run: dict[str, dict[Name, bool]] = {}
        for run_id, dataset, is_whole in proofs:
            known = self._by_run.setdefault(run_id, {})
            known[dataset] = known.get(dataset, True) and is_whole

    def __bool__(self) -> bool:
        """Tell whether there is any proof."""
        return bool(self._by_run)

    @property
    def rewriting_run_ids(self) -> frozenset[str]:
        """The ids of the runs that, by a proof, replaced all rows of some dataset."""
        return frozenset(run_id for run_id, known in self._by_run.items() if any(known.values()))

    def is_whole_rewrite(self, run_key: str, names: Collection[Name]) -> bool | None:
        """Tell whether a run, by the proofs, rewrote the dataset with these names as a whole; None without a proof."""
        known = self._by_run.get(run_id_of(run_key).lower(), {}) if self._by_run else {}
        proofs = [is_whole for name, is_whole in known.items() if name in names]
        return all(proofs) if proofs else None


NO_PROOFS = CommitProofs()


def read_proof_signs(
    run_facets: str | None, namespace: str | None, job: str | None, canonical_name: Callable[[str, str], Name]
) -> tuple[str, ...]:
    """Return the proofs in the facets of a run, as sorted write signs.

    run_facets: the facets of the run as JSON text; None without facets. namespace, job: the job of the run.
    canonical_name: returns the canonical name of a dataset for a namespace and a name.
    A proof of a whole rewrite counts only if `headwater reconcile` sent it. All other proofs count from every job,
    because they make answers more cautious.
    """
    if not run_facets or COMMITS not in run_facets:
        return ()
    facets = decode(run_facets.encode())
    facet = facets.get(COMMITS) if isinstance(facets, dict) else None
    every = facet.get("commits") if isinstance(facet, dict) else None
    is_trusted = namespace == NAMESPACE and (job or "").startswith(PREFIX)
    found = set()
    for each in every if isinstance(every, list) else ():
        proof = _read_proof(each)
        if proof and (proof[0] in PARTIAL_PROOFS or (proof[0] == WHOLE_PROOF and is_trusted)):
            proves, run_id, sent = proof
            found.add(_SEPARATOR.join((_PROOF_PREFIX, proves, run_id.lower(), *canonical_name(*sent).parts)))
    return tuple(sorted(found))


def parse_proof_signs(write_signs: Iterable[str]) -> Iterator[CommitProof]:
    """Yield the proofs in the write signs of a run. Other write signs are ignored."""
    for sign in write_signs:
        if sign.startswith(_PROOF_PREFIX + _SEPARATOR):
            _, proves, run_id, namespace, name = sign.split(_SEPARATOR, 4)
            yield CommitProof(run_id, Name(namespace, name), proves == WHOLE_PROOF)


def _read_proof(proof: Any) -> tuple[str, str, tuple[str, str]] | None:
    names = ("proves", "run", "namespace", "name")
    cells = [proof.get(name) for name in names] if isinstance(proof, dict) else []
    texts = [cell for cell in cells if isinstance(cell, str) and _SEPARATOR not in cell]
    return (texts[0], texts[1], (texts[2], texts[3])) if len(texts) == len(names) else None
