"""Ids of nodes, such as `dataset:NAMESPACE:NAME`: both parts may hold colons, so what is known decides their end."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeVar
from uuid import UUID

from headwater.api.marquez.requests import Answer, Asked, no_such_page, not_found
from headwater.index.reading.catalog_lists import JobRow
from headwater.lineage.names.dataset_name import Name

T = TypeVar("T")

_KINDS = ("dataset", "datasetField", "job")
_COLONS = 64
"""An id with more of them is not looked at: every colon is a place where it may be split."""


class Node(NamedTuple):
    """What an id means; version: what stands behind `#`."""

    kind: str
    dataset: Name | None = None
    job: JobRow | None = None
    column: str | None = None
    version: str | None = None


def dataset_id(name: Name) -> str:
    """Return the id of a dataset."""
    return f"dataset:{name.namespace}:{name.name}"


def job_id(name: Name) -> str:
    """Return the id of a job."""
    return f"job:{name.namespace}:{name.name}"


@lru_cache(maxsize=16_384)
def version_text(version: bytes) -> str:
    """Return a version as the UUID that clients expect; never null, because Marquez's Java client takes no null."""
    return str(UUID(bytes=version, version=5))


def find_node(asked: Asked, text: str) -> Node:
    """Return what an id means; raises Refused (404) for what is no id, and for one of nothing that is known."""
    kind, _, rest = text.partition(":")
    if kind not in _KINDS or rest.count(":") not in range(1, _COLONS):
        raise no_such_page()
    whole, mark, version = rest.rpartition("#")
    found = _find(asked, kind, rest, None) or (_find(asked, kind, whole, version) if mark else None)
    if found is None:
        raise not_found("Node", text[:500])
    return found


def with_asked_ids(answer: Answer, canonical: str, asked: str, column: str | None = None) -> Answer:
    """Return a graph in which a node, or the columns of a dataset, have ids of the spelling that was asked for.

    Marquez's page looks up the node by the text that it asked for; under another id it draws nothing.
    canonical, asked: an id, or with a colon behind it what ids of columns begin with. column: as it was asked for.
    """

    def spelled(text: str) -> str:
        if not canonical.endswith(":"):
            return asked if text == canonical else text
        if not text.startswith(canonical):
            return text
        name = text[len(canonical) :]
        return asked + (column if column is not None and column.casefold() == name.casefold() else name)

    for node in answer["graph"]:
        node["id"] = spelled(node["id"])
        for edge in (*node["inEdges"], *node["outEdges"], *(node["data"].get("flows") or ())):
            edge["origin"], edge["destination"] = spelled(edge["origin"]), spelled(edge["destination"])
    return answer


def _find(asked: Asked, kind: str, rest: str, version: str | None) -> Node | None:
    if kind == "job":
        job = _first(rest, asked.find_job)
        return Node(kind, job=job, version=version) if job else None
    if kind == "dataset":
        dataset = _first(rest, asked.find_dataset)
        return Node(kind, dataset, version=version) if dataset else None
    for dataset_part, column in _splits(rest):
        dataset = _first(dataset_part, asked.find_dataset)
        if dataset:
            return Node(kind, dataset, column=column, version=version)
    return None


def _first(text: str, look: Callable[[str, str], T | None]) -> T | None:
    return next((found for parts in _splits(text) if (found := look(*parts))), None)


def _splits(text: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to split at a colon, from the end: namespaces hold more of them than names."""
    at = text.rfind(":")
    while at > 0:
        if text[at + 1 :]:
            yield text[:at], text[at + 1 :]
        at = text.rfind(":", 0, at)
