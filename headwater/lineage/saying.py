"""What one event says, but for when, by which run and of which versions: a job that recurs says it a million times."""

from typing import NamedTuple

from msgspec.structs import replace

from headwater.lineage.name import Name
from headwater.lineage.part import Mention, Part


class Saying(NamedTuple):
    """The fields of a `Part` that another event of the same job has, too."""

    kind: str
    type: str
    job: Name
    artifact: str | None
    processing: str | None
    snapshot: bool
    inputs: tuple[Mention, ...]
    outputs: tuple[Mention, ...]
    declared: tuple[tuple[str, str], ...]
    leads_to: tuple[Name, ...]
    producer: str


def saying_of(part: Part) -> Saying:
    """Return what an event says."""
    return Saying(
        part.kind, part.type, part.job, part.artifact, part.processing, part.snapshot, _whatever_version(part.inputs),
        _whatever_version(part.outputs), part.declared, part.leads_to, part.producer,
    )  # fmt: skip


def versions_of(part: Part) -> dict[int, str]:
    """Return the versions of datasets by their place among inputs, then outputs."""
    mentions = (*part.inputs, *part.outputs)
    return {place: each.version for place, each in enumerate(mentions) if each.version is not None}


def _whatever_version(mentions: tuple[Mention, ...]) -> tuple[Mention, ...]:
    for mention in mentions:
        if mention.version is not None:
            return tuple(replace(each, version=None) for each in mentions)
    return mentions
