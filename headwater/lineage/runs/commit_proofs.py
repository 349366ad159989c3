"""Rule 6.7: what commits of Delta tables prove about the writes of runs, as `headwater reconcile` reports it."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

from headwater.events.decode import decode
from headwater.events.finding_facet import COMMITS, NAMESPACE, PREFIX
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import run_id_of

_PROVES, _MARK = "proves", "\0"
"""The first begins a sign of a run (`EventContent.write_signs`) that tells a proof; what, run and name follow."""

WHOLE = "whole"
PARTS = ("append", "nothing", "part")
"""What a commit proves of a write besides that it is a whole rewrite; for the rules all three are the same."""


class CommitProof(NamedTuple):
    """What commits prove of the write of a dataset, under a name that its events use, by a run; id in lower case."""

    run_id: str
    dataset: Name
    is_whole: bool


class CommitProofs:
    """All proofs; a proof that a write is no whole rewrite outweighs every other one about it, so order is nothing."""

    def __init__(self, proofs: Iterable[CommitProof] = ()):
        """Take proofs."""
        self._by_run: dict[str, dict[Name, bool]] = {}
        for run_id, dataset, is_whole in proofs:
            known = self._by_run.setdefault(run_id, {})
            known[dataset] = known.get(dataset, True) and is_whole

    def __bool__(self) -> bool:
        """Tell whether there is any."""
        return bool(self._by_run)

    @property
    def whole_runs(self) -> frozenset[str]:
        """The ids of runs of which some proof says that they rewrote a dataset."""
        return frozenset(run_id for run_id, known in self._by_run.items() if any(known.values()))

    def is_whole(self, run_key: str, names: Collection[Name]) -> bool | None:
        """Tell whether a run rewrote a dataset with these names as a whole; None if nothing proves it."""
        known = self._by_run.get(run_id_of(run_key).lower(), {}) if self._by_run else {}
        told = [is_whole for name, is_whole in known.items() if name in names]
        return all(told) if told else None


NO_PROOFS = CommitProofs()


def proof_signs(
    run_facets: str | None, namespace: str | None, job: str | None, canonical: Callable[[str, str], Name]
) -> tuple[str, ...]:
    """Return the signs of a run that reports proofs, from the text of its facets; namespace, job: of the run.

    Only `reconcile` proves that a write is a whole rewrite. That it is none is accepted of every job, as it makes
    answers more cautious.
    """
    if not run_facets or COMMITS not in run_facets:
        return ()
    facets = decode(run_facets.encode())
    facet = facets.get(COMMITS) if isinstance(facets, dict) else None
    every = facet.get("commits") if isinstance(facet, dict) else None
    is_trusted = namespace == NAMESPACE and (job or "").startswith(PREFIX)
    found = set()
    for each in every if isinstance(every, list) else ():
        told = _told(each)
        if told and (told[0] in PARTS or (told[0] == WHOLE and is_trusted)):
            proves, run_id, sent = told
            found.add(_MARK.join((_PROVES, proves, run_id.lower(), *canonical(*sent).parts)))
    return tuple(sorted(found))


def proofs_in(write_signs: Iterable[str]) -> Iterator[CommitProof]:
    """Yield the proofs that signs of a run report."""
    for sign in write_signs:
        if sign.startswith(_PROVES + _MARK):
            _, proves, run_id, namespace, name = sign.split(_MARK, 4)
            yield CommitProof(run_id, Name(namespace, name), proves == WHOLE)


def _told(proof: Any) -> tuple[str, str, tuple[str, str]] | None:
    names = ("proves", "run", "namespace", "name")
    cells = [proof.get(name) for name in names] if isinstance(proof, dict) else []
    texts = [cell for cell in cells if isinstance(cell, str) and _MARK not in cell]
    return (texts[0], texts[1], (texts[2], texts[3])) if len(texts) == len(names) else None
