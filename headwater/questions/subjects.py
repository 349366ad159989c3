"""Finds the dataset, column or job that a text means, by name, alias or unique end of a name.

Errors suggest similar names.
"""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from headwater.common.errors import NeverWritten, NotKnown, WrongQuestion
from headwater.common.nearest_names import NEAREST, nearest_names
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import MAX_LENGTH, Name, split_location
from headwater.lineage.names.display_names import DisplayNames, NameMatches, path_in_sql, without_quotes
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.snapshot import Snapshot
from headwater.questions.incomplete_lineage import removal_note

_MAX_NAMED = 20
"""Maximum number of datasets for one text that search adds to its hits."""


class Subject(NamedTuple):
    """A dataset as users or producers write it.

    namespace: the namespace, or None if it is not given. column: a column of the dataset, or None for all columns.
    """

    namespace: str | None
    dataset: str
    column: str | None = None


class Bounds(NamedTuple):
    """Limits of an answer. depth: maximum number of edges on a path. limit: maximum number of items."""

    depth: int
    limit: int


def find_dataset(snapshot: Snapshot, rules: NameRules, asked: Subject, *, in_events: bool = False) -> Name:
    """Return the dataset that a text means. Raises NotKnown, or WrongQuestion if several match.

    in_events: also return a dataset without lineage that events name, for example because its first run failed. By
    default, such a dataset raises NeverWritten, because most questions would answer as if nothing depended on it.
    """
    for name in candidate_names(rules, asked):
        dataset = snapshot.resolve(name)
        if snapshot.has_lineage_or_schema(dataset):
            return dataset
    text = asked.dataset.strip().lstrip("…").strip("/")
    names, namespaces = snapshot.display_names(rules), _namespaces(rules, asked)
    called = names.find_unique_dataset(text)
    if called is not None and _is_in_namespace(called, namespaces) and snapshot.has_lineage_or_schema(called):
        return called
    found = _datasets_matching(snapshot, names, text, namespaces) or _datasets_matching_shortened_name(
        snapshot, asked, rules
    )
    plain = _unescape_invisible(asked.dataset)
    if not found and plain != asked.dataset:
        return find_dataset(snapshot, rules, asked._replace(dataset=plain), in_events=in_events)
    without_lineage = [] if found else _datasets_matching_in_events(snapshot, rules, asked, text)
    if len(without_lineage) == 1 and not in_events:
        raise NeverWritten("/".join(without_lineage[0].parts))
    found = found or without_lineage
    if len(found) > 1:
        shown = ", ".join(repr(names.name_in_messages(name)) for name in found[:NEAREST])
        wanted = f"{asked.dataset[:200]!r}"
        raise WrongQuestion(
            f"{wanted} matches {len(found)} datasets: {shown}. Add the namespace, or write more of the name."
        )
    if found:
        return found[0]
    whole = f"{asked.namespace}/{asked.dataset}" if asked.namespace else asked.dataset
    raise NotKnown(
        "dataset", whole, nearest_names(asked.dataset, _accepted_names(snapshot, names)), note=removal_note(snapshot)
    )


def datasets_with_complete_name(snapshot: Snapshot, rules: NameRules, text: str) -> list[Name]:
    """Return the datasets that a text may mean as a complete name, sorted. The list is empty for a part of a name."""
    if len(text) > MAX_LENGTH:
        return []
    asked, names = Subject(None, text.strip()), snapshot.display_names(rules)
    named = (snapshot.resolve(name) for name in candidate_names(rules, asked))
    exact = next(
        (name for name in named if snapshot.has_lineage_or_schema(name)), names.find_unique_dataset(text.strip())
    )
    if exact is not None:
        return [exact] if snapshot.has_lineage_or_schema(exact) else []
    candidates = names.find_by_suffix(text.strip().strip("/"))
    return sorted(
        name
        for name in candidates.by_canonical_name or candidates.by_alias or candidates.ignoring_case
        if snapshot.has_lineage_or_schema(name)
    )[:_MAX_NAMED]


def _datasets_matching_in_events(snapshot: Snapshot, rules: NameRules, asked: Subject, text: str) -> list[Name]:
    """Return the matching datasets that events name, but that no lineage contains."""
    named = (snapshot.resolve(name) for name in candidate_names(rules, asked))
    exact = next((name for name in named if snapshot.is_in_events(name)), None)
    if exact is not None:
        return [exact]
    namespaces, every = _namespaces(rules, asked), snapshot.names_in_events()
    found = {name for name in every if _ends_with(name, text) and _is_in_namespace(name, namespaces)}
    candidates = snapshot.display_names(rules).find_by_suffix(text, frozenset(namespaces))
    return sorted(found or candidates.by_canonical_name or candidates.by_alias or candidates.ignoring_case)


def _datasets_matching(snapshot: Snapshot, names: DisplayNames, text: str, namespaces: tuple[str, ...]) -> list[Name]:
    """Return datasets with a name that ends with a text, else with such an alias, else matches that ignore case.

    A text with `.` may also mean a path: `silver.orders` matches `…/silver/orders`. A text with `/` may mean a name in
    a catalog. If a dataset's own name matches only in this form, datasets with a matching alias are candidates, too.
    """
    candidates = NameMatches(
        *(
            {each for each in found if snapshot.has_lineage_or_schema(each)}
            for found in names.find_by_suffix(text, frozenset(namespaces))
        )
    )
    own = {name for name in snapshot.datasets() if _ends_with(name, text) and _is_in_namespace(name, namespaces)}
    matching = own | candidates.by_canonical_name
    if not own:
        matching |= candidates.by_alias | {
            dataset
            for alias, dataset in snapshot.aliases().items()
            if _ends_with(alias, text)
            and _is_in_namespace(alias, namespaces)
            and snapshot.has_lineage_or_schema(dataset)
        }
    return sorted(matching or candidates.ignoring_case)


def _datasets_matching_shortened_name(snapshot: Snapshot, asked: Subject, rules: NameRules) -> list[Name]:
    """Return datasets that match a shortened name: narrow tables print `…` for the omitted part."""
    fits = shortened_name_matcher(asked.dataset)
    if fits is None:
        return []
    namespaces = _namespaces(rules, asked)
    return sorted(
        name
        for name in snapshot.datasets()
        if _is_in_namespace(name, namespaces) and (fits(name.name) or fits("/".join(name.parts)))
    )


def shortened_name_matcher(text: str) -> Callable[[str], bool] | None:
    """Return a function that returns whether a name matches a text in which `…` or `...` stands for omitted parts.

    Returns None if the text has no omitted part.
    """
    parts = text.replace("...", "…").split("…")
    if len(parts) == 1 or not any(parts):
        return None
    pattern = re.compile(".*".join(map(re.escape, parts)), re.DOTALL)
    return lambda name: pattern.fullmatch(name) is not None


def _accepted_names(snapshot: Snapshot, names: DisplayNames) -> set[str]:
    """Return all accepted names of datasets: their own, display names and aliases."""
    aliases = (alias for alias, dataset in snapshot.aliases().items() if snapshot.has_lineage_or_schema(dataset))
    labels = {label for label, dataset in names.with_special_display_names() if snapshot.has_lineage_or_schema(dataset)}
    return labels.union("/".join(name.parts) for name in (*snapshot.datasets(), *aliases))


def candidate_names(rules: NameRules, asked: Subject) -> Iterable[Name]:
    """Yield the canonical names for a text that is a complete name: an alias, or a location, also as in SQL."""
    if asked.namespace is not None:
        yield rules.canonical(asked.namespace, asked.dataset)
        return
    alias = rules.aliases.get(asked.dataset.casefold())
    if alias:
        yield alias
    location = split_location(path_in_sql(asked.dataset) or asked.dataset)
    if location:
        yield rules.canonical(*location.parts)


def _namespaces(rules: NameRules, asked: Subject) -> tuple[str, ...]:
    """Return the spellings of the requested namespace. An empty tuple means any namespace."""
    if asked.namespace is None:
        return ()
    return asked.namespace, rules.canonical(asked.namespace, asked.dataset).namespace


def _is_in_namespace(name: Name, namespaces: tuple[str, ...]) -> bool:
    return not namespaces or name.namespace in namespaces


def _ends_with(name: Name, text: str) -> bool:
    """Return whether a name ends with a text after a separator. A leading `/` of the name is optional."""
    for whole in {f"{name.namespace}/{name.name}", f"{name.namespace}/{name.name.lstrip('/')}"}:
        if text and whole.strip("/").endswith(text):
            before = whole.strip("/")[: -len(text)]
            if not before or before[-1] in "/.:":
                return True
    return False


_ESCAPES = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[nrt])")


def _unescape_invisible(text: str) -> str:
    """Replace Python's escapes for invisible characters, because messages print names with them."""
    return _ESCAPES.sub(lambda found: found.group().encode("ascii").decode("unicode_escape"), text)


def find_job(
    snapshot: Snapshot, jobs: Iterable[Name], namespace: str | None, name: str, *, exact: bool = False
) -> Name:
    """Return the key of a job by its name. Raises NotKnown, or WrongQuestion if several match.

    If no job has exactly this name, the name may be quoted, in another case, or the end of a job's name after a dot or
    slash.
    jobs: keys of the jobs to search. exact: accept only complete names in their own case.
    """
    shown = {(job, parts) for job in jobs for parts in (job.parts, snapshot.job_name(job).parts)}
    found = sorted({job for job, parts in shown if parts[1] == name and namespace in (None, parts[0])})
    if not found and namespace is None:  # qualified, as NAMESPACE/NAME
        found = sorted({job for job, parts in shown if "/".join(parts) == name})
    fits = shortened_name_matcher(name) if not found else None
    if fits:
        found = sorted(
            {job for job, parts in shown if namespace in (None, parts[0]) and (fits(parts[1]) or fits("/".join(parts)))}
        )
    if not found and not exact:
        found = _jobs_matching_ignoring_case(shown, namespace, name)
    if len(found) > 1:
        every = ", ".join(repr("/".join(job.parts)) for job in found[:NEAREST])
        raise WrongQuestion(f"{name[:200]!r} matches {len(found)} jobs: {every}. Write one of them, or its namespace.")
    if not found:
        near = nearest_names(name, {parts[1] for _, parts in shown})
        raise NotKnown("job", f"{namespace}/{name}" if namespace else name, near)
    return found[0]


def _jobs_matching_ignoring_case(
    shown: Iterable[tuple[Name, tuple[str, str]]], namespace: str | None, name: str
) -> list[Name]:
    """Return jobs that match a text if case and quotes are ignored.

    If there are none, return jobs with names that end with the text. shown: pairs (job key, (namespace, name)).
    """
    wanted = without_quotes(name).casefold().strip("./")
    in_it = [
        (job, f"/{parts[0]}/{parts[1]}".casefold(), parts[1].casefold())
        for job, parts in shown
        if wanted and namespace in (None, parts[0])
    ]
    same = {job for job, whole, own in in_it if wanted in (own, whole[1:])}
    return sorted(same or {job for job, whole, _ in in_it if whole.endswith((f"/{wanted}", f".{wanted}"))})


def find_column(snapshot: Snapshot, dataset: Name, column: str) -> str:
    """Return the key of a column. Raises NotKnown with similar names."""
    columns, graph = snapshot.shown_columns(dataset), snapshot.graph
    key = columns.key(column)
    locations = (dataset, *snapshot.naming.moved_names.other_current_locations(dataset.without_generation))
    numbers = [number for location in locations for number in graph.generations.get(location, ())]
    if key in columns.by_key or any(graph.find_node(number, key) is not None for number in numbers):
        return key
    for location in locations[1:]:  # a map may be listed as one only there
        spelt = snapshot.shown_columns(location)
        if (there := spelt.key(column)) != key and (
            there in spelt.by_key
            or any(graph.find_node(number, there) is not None for number in graph.generations.get(location, ()))
        ):
            return columns.key(there)
    mentioned = [graph.columns[node].key or "" for number in numbers for node in graph.nodes_of(number)]
    known = {each.casefold(): columns.displayed_spelling(each) for each in (*mentioned, *columns.by_key)}
    if len(column) > 2 and column[0] == column[-1] and column[0] in "\"`'":
        return find_column(snapshot, dataset, column[1:-1])
    if (unquoted := without_quotes(column)) != column or (unquoted := _without_table_name(dataset, column)) != column:
        return find_column(snapshot, dataset, unquoted)
    plain = _unescape_invisible(column)
    if plain != column:
        return find_column(snapshot, dataset, plain)
    fits = shortened_name_matcher(column.casefold())
    matching = sorted(each for each in known if fits(each)) if fits else []
    if len(matching) == 1:
        return columns.key(matching[0])
    if matching:
        shown = ", ".join(repr(known[each]) for each in matching[:NEAREST])
        raise WrongQuestion(f"{column[:200]!r} matches {len(matching)} columns: {shown}. Write one of them.")
    raise NotKnown(f"column of {'/'.join(dataset.parts)!r} named", column, nearest_names(column, set(known.values())))


def _without_table_name(dataset: Name, column: str) -> str:
    """Remove the name of the table from a column: `customers.email` of `silver/customers` is `email`."""
    table = re.split(r"[./]", dataset.name)[-1].casefold()
    parts = column.split(".")
    behind = next((place for place, part in enumerate(parts[:-1], 1) if part.casefold() == table), 0)
    return ".".join(parts[behind:])


def nodes_of(snapshot: Snapshot, counted: CountedEdges, dataset: Name, key: str | None) -> list[int]:
    """Return the nodes of a column and its nested columns; with None, of all columns of a dataset.

    The nodes belong to the newest generation of the dataset that was written, so that questions about a dropped dataset
    have an answer. If only attempts mention the newest generation, the nodes of an earlier generation are returned, too
    (rule 7.3).
    """
    return [
        node
        for number in counted.lifetimes.start_generations(dataset)
        for node in nodes_of_column_in_generation(snapshot, counted, number, key)
    ]


def nodes_of_column_in_generation(snapshot: Snapshot, counted: CountedEdges, number: int, key: str | None) -> list[int]:
    """Return the nodes of a column in one generation, by the generation's number in the graph.

    Generations may differ in case and nesting of names.
    """
    if key is None:
        return list(snapshot.graph.nodes_of(number))
    own = counted.nesting.columns_of(number).key(key)
    return sorted(counted.nesting.add_nested_columns({snapshot.graph.get_or_add_node(number, own)}))
