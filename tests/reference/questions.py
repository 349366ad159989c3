"""Answer impact, upstream and tag questions with a Reference (docs/reference/lineage.md: questions).

`exposures.py` and `verdicts.py` answer the questions about the masking surface and unused columns.
"""

from collections.abc import Iterator

from tests.reference.exposures import exposed_until, surface, tagged_states, tagged_until
from tests.reference.generations import Dataset
from tests.reference.moves import in_generation, moved_steps, with_moved
from tests.reference.nesting import Nesting, Node, Step, Way
from tests.reference.records import Delivered, Facets, facets_of, job_key
from tests.reference.solver import Column, Reference
from tests.reference.verdicts import caveats, unused, unused_reasons
from tests.reference.walks import reached, reached_backwards

__all__ = [
    "Column",
    "caveats",
    "exposed_until",
    "impact",
    "not_listed",
    "surface",
    "tagged",
    "tagged_states",
    "tagged_until",
    "unused",
    "unused_reasons",
    "upstream",
]


def impact(
    lineage: Reference, namespace: str, name: str, column: str, mode: str
) -> dict[Column, tuple[int, bool, bool]]:
    """Return the columns that a column reaches, as (distance, masked, read_before_recreation)."""
    lineage = lineage.of_use()
    asked, nesting = asked_columns(lineage, namespace, name, column)
    asked, steps = impact_steps(lineage, nesting, asked, mode)
    found = reached(steps, asked)
    clear = reached((step for step in steps if not step.is_masked), asked)
    exact = reached((step for step in steps if not step.before_recreation), asked)
    return lineage.shown(
        {node: (distance, node not in clear, node not in exact) for node, distance in found.items()}, asked
    )


def upstream(lineage: Reference, namespace: str, name: str, column: str, mode: str) -> dict[Column, tuple[int, bool]]:
    """Return the columns that reach a column, as (distance, masked)."""
    lineage = lineage.of_rows()
    asked, nesting = asked_columns(lineage, namespace, name, column)
    asked, steps = upstream_steps(lineage, nesting, asked, mode)
    found = reached_backwards(steps, asked)
    clear = reached_backwards((step for step in steps if not step.is_masked), asked)
    return lineage.shown({node: (distance, node not in clear) for node, distance in found.items()}, asked)


def impact_steps(lineage: Reference, nesting: Nesting, asked: set[Node], mode: str) -> tuple[set[Node], set[Step]]:
    """Return the start columns and steps of impact, including those to which names moved."""
    steps = nesting.steps(lineage.column_edges) | set(over_recreation(lineage, nesting))
    steps = {step for step in steps if mode == "any" or step.is_direct}
    return with_moved(lineage, asked), moved_steps(lineage, steps)


def upstream_steps(lineage: Reference, nesting: Nesting, asked: set[Node], mode: str) -> tuple[set[Node], set[Step]]:
    """Return the start columns and steps of upstream, including those from which names moved."""
    steps = {step for step in nesting.steps(lineage.column_edges) if mode == "any" or step.is_direct}
    return with_moved(lineage, asked, forward=False), moved_steps(lineage, steps, forward=False)


def tagged(lineage: Reference, tag: str) -> set[Node]:
    """Return the columns with a tag, in all generations.

    A tag without a field applies to every column; None represents unknown columns.
    """
    newest: dict[tuple[str, Dataset], Facets] = {}
    for event in lineage.events:
        for role in ("inputs", "outputs", "dataset"):
            for each in event.datasets(role):
                if facet := facets_of(each).get("tags"):
                    for dataset in _all_meant(lineage, each, event):
                        newest[event.event["producer"], dataset] = facet
    found: set[Node] = set()
    for (_, tagged_dataset), facet in newest.items():
        elsewhere = lineage.names.others(tagged_dataset[:2], now=False)
        for dataset in {tagged_dataset, *(each for name in elsewhere for each in lineage.generations.of_dataset(name))}:
            for each in facet.get("tags") or []:
                if each["key"].casefold() == tag.casefold() and each["value"].casefold() != "false":
                    field = each.get("field")
                    found |= {lineage.node(dataset, field)} if field else lineage.every_column(dataset)
    return found


def asked_columns(lineage: Reference, namespace: str, name: str, column: str) -> tuple[set[Node], Nesting]:
    """Return the columns where a question about a name starts, including the nested columns."""
    begins = lineage.generations.asked((namespace, name), lineage.related, lineage.proven)
    asked = [lineage.node(dataset, column) for dataset in begins]
    nesting = lineage.nesting_with(asked)
    return {node for each in asked for node in nesting.about(each)}, nesting


def _all_meant(lineage: Reference, named: Facets, event: Delivered) -> set[Dataset]:
    """Return all generations of a mention's dataset, and of all datasets to which its name was ever bound."""
    name, every = lineage.names.mention(named, event), lineage.generations
    if not name:
        return set()
    meant = {every.meant(name, event.time_us), *every.of_location(name)}
    return {generation for dataset in meant for generation in every.of_dataset(dataset[:2])}


def over_recreation(lineage: Reference, nesting: Nesting) -> Iterator[Step]:
    """Yield steps from columns of newest generations, by way of what current readers read of other generations."""
    steps = nesting.steps(lineage.edges_of(lineage.current_readers + lineage.declared))
    for dataset in list(nesting.there):
        others = lineage.generations.of_name(dataset[:2]) - {dataset}
        if dataset == lineage.generations.newest(dataset[:2]):
            for node in [(*dataset, column) for column in nesting.there[dataset]]:
                same = {each: way for other in others for each, way in in_generation(nesting, node, other)}
                for step in steps:
                    if step.source in same:
                        way = Way.MAY if same[step.source] is Way.MAY else step.way
                        yield step._replace(source=node, way=way, before_recreation=True)


def not_listed(lineage: Reference, dataset: Dataset, window_us: int) -> dict[str, tuple[int, int]]:
    """Return the columns that no reader lists any more (12.10): the last time of a listing, and since when they are
    missing.
    """
    told: list[tuple[Delivered, tuple[str, str] | None, set[str]]] = []
    for event in lineage.events:
        for role in ("inputs", "outputs", "dataset"):
            for each in event.datasets(role):
                if lineage.about(each, event, role == "outputs") != dataset:
                    continue
                if role == "outputs" and "run" in event.event:
                    return {}
                fields = (facets_of(each).get("schema") or {}).get("fields") or []
                job = job_key(event.event["job"]) if role == "inputs" and "run" in event.event else None
                told.append((event, job, {lineage.schemas.key(dataset, field["name"]) for field in fields}))
    begin_us = max((event.time_us for event, *_ in told), default=0) - window_us
    states: list[tuple[int, dict[str, int]]] = []
    for end in range(1, len(told) + 1):
        newest = {job: at for at, (event, job, _) in enumerate(told[:end]) if job and event.time_us >= begin_us}
        listed = set[str]().union(*(told[at][2] for at in newest.values()))
        last = {column: at for at, (*_, columns) in enumerate(told[:end]) for column in columns}
        gone = {column: at for column, at in last.items() if newest and column not in listed}
        states.append((end - 1, {column: at for column, at in gone.items() if at < max(newest.values())}))
    found = {}
    for column, at in (states[-1][1] if states else {}).items():
        since = next(end for end, _ in states if all(column in now for later, now in states if later >= end))
        found[column] = (told[at][0].time_us, told[since][0].time_us)
    return found
