"""Parse ids of nodes, such as `dataset:NAMESPACE:NAME`. Both parts may contain colons; known names decide the split."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeVar
from uuid import UUID

from headwater.api.marquez.requests import Answer, RequestContext, not_found_error, page_not_found_error
from headwater.index.reading.catalog import JobRow
from headwater.lineage.names.dataset_name import Name

T = TypeVar("T")

_KINDS = ("dataset", "datasetField", "job")
_MAX_COLONS = 64
"""Maximum number of colons in an id. Each colon is a possible split and costs a lookup."""


class Node(NamedTuple):
    """The object that an id refers to: a dataset, a column of a dataset, or a job. version: the part after `#`."""

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
    """Return a version as a UUID. It is never null, because Marquez's Java client does not accept null."""
    return str(UUID(bytes=version, version=5))


def find_node(context: RequestContext, text: str) -> Node:
    """Return the object that an id refers to. Raises MarquezError (404) if the id is invalid or unknown."""
    kind, _, rest = text.partition(":")
    if kind not in _KINDS or rest.count(":") not in range(1, _MAX_COLONS):
        raise page_not_found_error()
    whole, mark, version = rest.rpartition("#")
    found = _find_by_kind(context, kind, rest, None) or (_find_by_kind(context, kind, whole, version) if mark else None)
    if found is None:
        raise not_found_error("Node", text[:500])
    return found


def with_requested_spelling(answer: Answer, canonical: str, requested: str, column: str | None = None) -> Answer:
    """Replace canonical ids in a graph by ids as the request spelled them.

    Marquez's page looks up the requested node by the id of the request, and draws nothing if the node has another id.
    canonical, requested: the canonical id, and the id in the request. A colon at the end makes it the prefix of column
    ids. column: name of the requested column, as the request spelled it.
    """

    def respell(text: str) -> str:
        if not canonical.endswith(":"):
            return requested if text == canonical else text
        if not text.startswith(canonical):
            return text
        name = text[len(canonical) :]
        return requested + (column if column is not None and column.casefold() == name.casefold() else name)

    for node in answer["graph"]:
        node["id"] = respell(node["id"])
        for edge in (*node["inEdges"], *node["outEdges"], *(node["data"].get("flows") or ())):
            edge["origin"], edge["destination"] = respell(edge["origin"]), respell(edge["destination"])
    return answer


def _find_by_kind(context: RequestContext, kind: str, rest: str, version: str | None) -> Node | None:
    if kind == "job":
        job = _first_found(rest, context.find_job)
        return Node(kind, job=job, version=version) if job else None
    if kind == "dataset":
        dataset = _first_found(rest, context.find_dataset)
        return Node(kind, dataset, version=version) if dataset else None
    for dataset_part, column in _splits_at_colons(rest):
        dataset = _first_found(dataset_part, context.find_dataset)
        if dataset:
            return Node(kind, dataset, column=column, version=version)
    return None


def _first_found(text: str, look: Callable[[str, str], T | None]) -> T | None:
    return next((found for parts in _splits_at_colons(text) if (found := look(*parts))), None)


def _splits_at_colons(text: str) -> Iterator[tuple[str, str]]:
    """Yield a text split into namespace and name at each colon, starting from the end.

    Namespaces contain more colons than names, so splits near the end are more likely.
    """
    at = text.rfind(":")
    while at > 0:
        if text[at + 1 :]:
            yield text[:at], text[at + 1 :]
        at = text.rfind(":", 0, at)
