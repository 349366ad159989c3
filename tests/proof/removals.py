"""Operators that remove one piece of information from a list of events."""

import re
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from tests.proof.event_edits import (
    TERMINAL,
    Mutation,
    Operator,
    Place,
    bound_names,
    changed,
    changed_datasets,
    ended_names,
    folded_column,
    order_of,
    places,
    same_run,
    shown,
    steps_of,
    time_of,
)
from tests.proof.ranks import all_sources
from tests.reference.generations import NEVER, Dataset, Generations
from tests.reference.names import Name, Names, canonical_form, filters
from tests.reference.records import Facets, facets_of, is_rdd_step, job_key, runs_of
from tests.reference.solver import Reference
from tests.reference.world_events import Json, deliver
from tests.reference.write_kinds import EMPTIES, REPLACES


def empty_input_fields(events: Sequence[Json], chance: Random) -> Mutation | None:
    """Empty `inputFields` of one output column."""
    fields = [
        (place, column)
        for place, column, entry in _fields(events)
        if entry.get("inputFields") and _stay_named(events, place, column)
    ]
    return _on_field(events, chance, fields, lambda told, column: told[column].update(inputFields=[]), "inputFields")


def drop_field(events: Sequence[Json], chance: Random) -> Mutation | None:
    """Drop one output column from `columnLineage`.

    Columns that are nested in another output column, or contain one, are left out: either column's inputs account for
    both (rule 4.9), so the remaining one would appear complete.
    """
    fields = [(place, column) for place, column, _ in _fields(events) if _stay_named(events, place, column)]
    fields = [(place, column) for place, column in fields if not _is_nested_in_another(events, place, column)]
    return _on_field(events, chance, fields, lambda told, column: told.pop(column), "field")


def drop_transformations(events: Sequence[Json], chance: Random) -> Mutation | None:
    """Drop `transformations` from one column of `columnLineage`, or from all.

    An INDIRECT edge becomes DIRECT, so that lineage may contradict the SQL of its run, which then no longer counts
    (rule 4.9). A run is left out if a declaration of its job explains columns that only this SQL reported. Lineage
    without transformations that names unlisted datasets yields to the SQL (rule 4.10a). If they contradict each other,
    the run is left out, too.
    """
    having = [
        place
        for place in places(events, "outputs")
        if any(step.get("transformations") for step in steps_of(place.column_lineage))
        if not (_of_declarations(events, place) and _has_sql(events, place))
        if _sources(place) <= _inputs(events, place.event) or not _is_contradicted(events, place)
    ]
    if not having:
        return None
    place, everywhere = chance.choice(having), chance.random() < 0.5
    told = (place.column_lineage.get("fields") or {}).items()
    able = [name for name, entry in told if any(each.get("transformations") for each in entry.get("inputFields") or [])]
    everywhere, column = everywhere or not able, chance.choice(sorted(able) or [""])

    def change(named: Json) -> None:
        lineage = facets_of(named).get("columnLineage") or {}
        only = {"fields": {column: (lineage.get("fields") or {}).get(column, {})}}
        for step in steps_of(lineage if everywhere else only):
            step.pop("transformations", None)

    where = same_run(events, place.event)
    what = f"transformations of {shown(place.name)}{'' if everywhere else '.' + column}"
    return Mutation(changed_datasets(events, where, "outputs", place.name, change), tuple(where), what)


def drop_column_lineage(events: Sequence[Json], chance: Random) -> Mutation | None:
    """Drop a whole `columnLineage`."""
    having = [place for place in places(events, "outputs") if place.column_lineage and _stay_named(events, place)]
    return _drop_facet(events, chance, having, "columnLineage")


def trim_reader_schema(events: Sequence[Json], chance: Random) -> Mutation | None:
    """Reduce the schema of an input to one column.

    A writer has to account for all known columns of its output (rule 4.9). If no event names a column any more, it has
    to account for one fewer. Such columns are left out, because only these schemas show that they exist.
    """
    having = [place for place in places(events, "inputs") if len(_columns(place.named)) > 1]
    having = [place for place in having if not _makes_known_columns(events, place)]
    if not having:
        return None
    place = chance.choice(having)
    column = chance.choice(_columns(place.named))

    def change(named: Json) -> None:
        schema = facets_of(named).get("schema") or {}
        if kept := [each for each in schema.get("fields") or [] if each["name"] == column]:
            schema["fields"] = kept

    where = same_run(events, place.event)
    what = f"all columns of input {shown(place.name)} but {column}"
    return Mutation(changed_datasets(events, where, "inputs", place.name, change), tuple(where), what)


def drop_list(events: Sequence[Json], chance: Random) -> Mutation | None:
    """Drop the list of columns of an output.

    A run or declaration whose lineage has to account for all known columns of what it writes (rules 4.7 and 4.9) has to
    account for fewer if no event names a column any more: see `trim_reader_schema`. SQL does not depend on them. And a
    column that exists at one location of a name only has no counterpart at the others (rule 10.11). In a dataset with a
    complete list, what older lists and lineage name is no column any more (12.9): the list alone makes it one.
    """
    having = [place for place in places(events, "outputs") if _columns(place.named)]
    having = [
        place
        for place in having
        if not (
            _lists_alone(events, place)
            and (_tells_lineage(events, place) or _has_moved(events, place) or _has_complete_list(events, place))
        )
    ]
    return _drop_facet(events, chance, having, "schema")


def shorten_name(events: Sequence[Json], chance: Random) -> Mutation | None:
    """Shorten the name of an input inside `columnLineage`, as OpenLineage's SQL parser does.

    Lineage without transformations that names what the run does not list yields to the SQL: see `drop_transformations`.
    """
    found = [
        (place, name)
        for place in places(events, "outputs")
        if any(step.get("transformations") for step in steps_of(place.column_lineage))
        or not _is_contradicted(events, place)
        for name in sorted(_sources(place) & _inputs(events, place.event))
        if _shortened(name[1])
    ]
    if not found:
        return None
    place, name = chance.choice(found)
    short = _shortened(name[1])

    def change(named: Json) -> None:
        for step in steps_of(facets_of(named).get("columnLineage") or {}):
            if (step["namespace"], step["name"]) == name:
                step["name"] = short

    where = same_run(events, place.event)
    what = f"the beginning of {name[1]!r} in columnLineage, now {short!r}"
    return Mutation(changed_datasets(events, where, "outputs", place.name, change), tuple(where), what)


def drop_sql(events: Sequence[Json], chance: Random) -> Mutation | None:
    """Drop the SQL of a job, with the exceptions of `drop_transformations`.

    Steps of Spark's RDDs have no SQL: without it, a step that reads its output only reads (rule 11.2). SQL is also left
    out if it alone names a column of an input that a job or a whole dataset feeds. That column may contain anything,
    and so may the columns made from it. Without the SQL, no event names the column.
    """
    having = [n for n, event in enumerate(events) if "run" in event and facets_of(event["job"]).get("sql")]
    having = [n for n in having if not _names_other_columns(events, n)]
    having = [n for n in having if not is_rdd_step(events[n]["job"]["name"])]
    having = [n for n in having if _inputs(events, n)]  # a run without inputs would lose what only its SQL names
    having = [n for n in having if not any(_of_declarations(events, each) for each in _outputs(events, n))]
    if not having:
        return None
    where = same_run(events, chance.choice(having))
    return Mutation(
        changed(events, where, lambda event: facets_of(event["job"]).pop("sql", None)), tuple(where), "the SQL"
    )


def drop_overwrite(events: Sequence[Json], chance: Random) -> Mutation | None:
    having = [place for place in places(events, "outputs") if _change(place) == "OVERWRITE"]
    return _drop_facet(events, chance, having, "lifecycleStateChange")


def drop_subset(events: Sequence[Json], chance: Random) -> Mutation | None:
    """Drop a `subset` if another mention of the dataset still has one.

    Two cases are left out. The first is a run whose statement would otherwise replace all rows, because only its
    `subset` shows that it does not (rule 6.7). The second is an input that the lineage or SQL of the run covers without
    the condition's column: by rule 4.11, only the `subset` shows that the output depends on this column.
    """
    having = [place for place in places(events, "inputs", "outputs") if _subset_holders(place.named)]
    having = [place for place in having if _change(place) not in ("DROP", "RENAME")]  # these remove the whole table
    having = [place for place in having if place.role == "inputs" or not _is_of_a_rewrite(events, place)]
    having = [place for place in having if any(each != place and each.name == place.name for each in having)]
    having = [place for place in having if place.role == "outputs" or not _selects_by_more(events, place)]
    if not having:
        return None
    place = chance.choice(having)

    def change(named: Json) -> None:
        for holder in _subset_holders(named):
            named[holder].pop("subset")

    edited = changed(events, [place.event], lambda event: change(event[place.role][place.number]))
    return Mutation(edited, (place.event,), f"subset of {shown(place.name)}")


def drop_nominal_time(events: Sequence[Json], chance: Random) -> Mutation | None:
    """Drop `nominalTime` of a run.

    Without its period, a run that was written after newer periods looks like one of a changed job: it becomes the
    newest execution. Two cases are left out. After a whole rewrite, the rows of the newer period count only because
    their execution is the newest (rule 6.9). And only a current writer accounts for a column (rule 8.2 a).
    """
    having = [n for n, event in enumerate(events) if "run" in event and facets_of(event["run"]).get("nominalTime")]
    newer = {n: _of_newer_periods(events, n) for n in having}
    changing = [
        n
        for n, others in newer.items()
        if others and (_is_rewritten(events, n, others) or _tells_of(events, n, others))
    ]
    having = [n for n in having if n not in changing]
    older = [n for n in having if newer[n]]
    if not having:
        return None
    where = same_run(events, chance.choice(older or having))
    edited = changed(events, where, lambda event: facets_of(event["run"]).pop("nominalTime", None))
    return Mutation(edited, tuple(where), "nominalTime")


def drop_named_input(events: Sequence[Json], chance: Random) -> Mutation | None:
    """Drop an input that the run's lineage names, including its schema: see `trim_reader_schema`.

    SQL is read with the names of the inputs. If it contradicts the lineage, only the lineage counts without the input.
    """
    found = [
        place
        for place in places(events, "inputs")
        if any(place.name in _sources(each) for each in _newest_lineage(events, place.event))
        if not _tells_more(events, place)  # information of the mention would be lost, too
        if not _makes_known_columns(events, place)
        if not any(_is_contradicted(events, each) for each in _outputs(events, place.event))
    ]
    if not found:
        return None
    place = chance.choice(found)

    def change(event: Json) -> None:
        event["inputs"] = [
            each for each in event.get("inputs") or [] if (each["namespace"], each["name"]) != place.name
        ]

    where = same_run(events, place.event)
    return Mutation(changed(events, where, change), tuple(where), f"input {shown(place.name)}")


def drop_end(events: Sequence[Json], chance: Random) -> Mutation | None:
    """Drop the terminal event of a run whose other events name the same inputs, outputs and lineage sources.

    After a DROP or RENAME of an output, the event may be the only one that recreates the output, so it is left out.
    """
    found, ended, bound = [], ended_names(events), bound_names(events)
    for index, event in enumerate(events):
        if "run" in event and event.get("eventType") in TERMINAL:
            others = [events[each] for each in same_run(events, index) if each != index]
            ends_once = all(each.get("eventType") not in TERMINAL for each in others)
            renames = any(bound(place.name) in ended for place in _outputs(events, index))
            if (
                others
                and ends_once
                and not any(each.facets.keys() & {"symlinks", "tags"} for each in places([event], "inputs", "outputs"))
                and not renames
                and not any(_subset_holders(each.named) for each in places([event], "inputs", "outputs"))
                and all(_names(role, [event]) <= _names(role, others) for role in ("inputs", "outputs"))
                and _named_sources([event]) <= _named_sources(others)
            ):
                found.append(index)
    if not found:
        return None
    index = chance.choice(found)
    edited: list[Json | None] = list(events)
    edited[index] = None
    return Mutation(edited, (index,), f"the {events[index]['eventType']} of job {events[index]['job']['name']}")


REMOVALS: dict[str, Operator] = {
    "empty inputFields": empty_input_fields,
    "drop field": drop_field,
    "drop transformations": drop_transformations,
    "drop columnLineage": drop_column_lineage,
    "trim reader's schema": trim_reader_schema,
    "drop list": drop_list,
    "shorten name": shorten_name,
    "drop SQL": drop_sql,
    "drop OVERWRITE": drop_overwrite,
    "drop subset": drop_subset,
    "drop nominalTime": drop_nominal_time,
    "drop named input": drop_named_input,
    "drop end": drop_end,
}


def _of_newer_periods(events: Sequence[Json], index: int) -> list[int]:
    """Return the end events of other runs of the job that wrote the same output earlier, for a newer period."""
    written, job, own = _written_names(events), events[index]["job"]["name"], _period_end(events[index])
    return [
        other
        for other, each in enumerate(events)
        if "run" in each and each.get("eventType") == "COMPLETE"
        if written(index) & written(other)
        and each["job"]["name"] == job
        and each["run"]["runId"] != events[index]["run"]["runId"]
        and own < _period_end(each)
        and time_of(events, other) < time_of(events, index)
    ]


def _written_names(events: Sequence[Json]) -> Callable[[int], set[Name]]:
    """Return a function that returns the outputs of an event's run, with one common name for renamed datasets."""
    bound, renamed, names_in_time = bound_names(events), dict[Name, Name](), Names(deliver(events), canonical_form)
    for place in places(events, "outputs"):
        before = (place.facets.get("lifecycleStateChange") or {}).get("previousIdentifier")
        if before:
            names = {bound(place.name), bound((before["namespace"], before["name"]))}
            same = {each for name in names for each in (name, renamed.get(name, name))}
            first = min(same)
            renamed |= {name: first for name, other in renamed.items() if other in same}
            renamed |= dict.fromkeys(same, first)

    def written(index: int) -> set[Name]:
        names = {bound(place.name) for place in _outputs(events, index)}
        names |= {names_in_time.bound(*place.name, time_of(events, place.event)) for place in _outputs(events, index)}
        return {renamed.get(name, name) for name in names}

    return written


def _is_rewritten(events: Sequence[Json], index: int, others: list[int]) -> bool:
    """Return whether events or commits show that the output of a run is completely replaced after other
    runs wrote it.
    """
    written, begin_us = _written_names(events), min(time_of(events, each) for each in others)
    commits = [each for event in events if "run" in event for each in _commits(event) if each.get("proves") == "whole"]
    whole = {each["run"].lower() for each in commits}
    return any(
        _may_rewrite(place) or _is_of_a_rewrite(events, place) or events[place.event]["run"]["runId"].lower() in whole
        for place in places(events, "outputs")
        if time_of(events, place.event) > begin_us and written(place.event) & written(index)
    )


def _commits(event: Json) -> list[Json]:
    return (facets_of(event["run"]).get("headwater_commits") or {}).get("commits") or []


def _tells_of(events: Sequence[Json], index: int, others: list[int]) -> bool:
    """Return whether the lineage or SQL of a run names columns that the lineage and SQL of other runs do not."""
    return not _told_columns(events, index) <= set[str]().union(*(_told_columns(events, each) for each in others))


def _told_columns(events: Sequence[Json], index: int) -> set[str]:
    outputs, run = _outputs(events, index), [events[each] for each in same_run(events, index)]
    found = {folded_column(column) for place in outputs for column in place.column_lineage.get("fields") or {}}
    facets = [facets_of(event[entity]).get("lineage") or {} for event in run for entity in ("run", "job")]
    entries = [entry for each in facets for entry in each.get("entries") or []]
    entries += [place.facets.get("lineage") or {} for place in outputs]
    found |= {folded_column(column) for entry in entries for column in entry.get("fields") or {}}
    for event in run:
        query = (facets_of(event["job"]).get("sql") or {}).get("query") or ""
        insert = re.match(r"INSERT INTO \S+ \((.*?)\)", query)
        found |= {folded_column(each.strip("` ")) for each in (insert[1].split(",") if insert else [query]) if each}
    return found


def _makes_known_columns(events: Sequence[Json], place: Place) -> bool:
    """Return whether only a run that reads a dataset names a column for which a writer must account."""
    bound, columns, others = bound_names(events), *_listed_by(events, place)
    return not columns <= others and any(
        _lists_too_few(events, each) for each in places(events, "outputs") if bound(each.name) == bound(place.name)
    )


def _listed_by(events: Sequence[Json], place: Place) -> tuple[set[str], set[str]]:
    """Return the columns that a run lists for a dataset in one role, and those that other lists of it name.

    Lists of other generations are of other columns.
    """
    delivered, own, others = deliver(events), set[str](), set[str]()
    every = Generations(runs_of(each for each in delivered if "run" in each.event), Names(delivered, canonical_form))

    def meant(index: int, role: str, named: Json) -> Dataset | None:
        event = delivered[index]
        return every.described(named, event) if role == "outputs" else every.said(named, event, None)

    run, bound = set(same_run(events, place.event)), bound_names(events)
    datasets = {
        meant(each.event, each.role, each.named)
        for each in places(events, place.role)
        if each.event in run and bound(each.name) == bound(place.name)
    }
    for index, event in enumerate(events):
        for role in ("inputs", "outputs", "dataset"):
            sent = event.get(role) or []
            for each in sent if isinstance(sent, list) else [sent]:
                if meant(index, role, each) in datasets:
                    is_own = index in run and role == place.role
                    (own if is_own else others).update(folded_column(column) for column in _columns(each))
    return own, others


def _lists_alone(events: Sequence[Json], place: Place) -> bool:
    """Tell whether only the lists of a run for an output name some column of it."""
    own, others = _listed_by(events, place)
    return not own <= others


def _has_moved(events: Sequence[Json], place: Place) -> bool:
    """Tell whether a name of an output means other locations, too."""
    names = Names(deliver(events), canonical_form)
    places = ({location for _, location in names.locations(alias)} for alias in names.bindings)
    return any(len(each) > 1 and names.bound(*canonical_form(*place.name), NEVER) in each for each in places)


def _has_complete_list(events: Sequence[Json], place: Place) -> bool:
    """Tell whether an output has a base list (rule 12.6), in any generation."""
    schemas, name = Reference(deliver(events)).schemas, bound_names(events)(place.name)
    return any(dataset[:2] == name and schemas.base_us(dataset) is not None for dataset in list(schemas.known))


def _tells_lineage(events: Sequence[Json], place: Place) -> bool:
    """Tell whether a run or a declaration of its job reports lineage of an output other than by SQL."""
    own = [each for each in _outputs(events, place.event) if each.column_lineage]
    return bool(own or _has_entries(events, place) or _of_declarations(events, place))


def _names_other_columns(events: Sequence[Json], index: int) -> bool:
    """Return whether only the SQL of a run names a column of an input that a job or whole dataset feeds."""
    bound, queries = bound_names(events), [facets_of(events[n]["job"]).get("sql") for n in same_run(events, index)]
    fed = {bound((each["namespace"], each["name"])) for each in _entries(events) if _is_fed_as_a_whole(each)}
    for query in (each["query"] for each in queries if fed and each and each.get("query")):
        for table, alias in re.findall(r"(\w+) AS (s\d+)", query):
            named = {folded_column(each) for each in re.findall(rf"{alias}\.`(.*?)`", query)}
            meant = [name for name in _inputs(events, index) if name[1].casefold().endswith(table.casefold())]
            if any(bound(name) in fed and not named <= _named_columns(events, bound(name)) for name in meant):
                return True
    return False


def _entries(events: Sequence[Json]) -> list[Json]:
    """Return the entries of the `lineage` facets of runs and jobs."""
    facets = [
        facets_of(each[entity]).get("lineage") or {} for each in events for entity in ("run", "job") if entity in each
    ]
    return [entry for each in facets for entry in each.get("entries") or []]


def _is_fed_as_a_whole(entry: Json) -> bool:
    return "namespace" in entry and any(not each.get("field") for each in entry.get("inputs") or [])


def _named_columns(events: Sequence[Json], name: Name) -> set[str]:
    """Return the columns of a dataset that schemas and lineage name."""
    bound, found = bound_names(events), set[str]()
    for place in places(events, "inputs", "outputs"):
        sources = all_sources(place.facets)
        found |= {
            folded_column(each.get("field") or "")
            for each in sources
            if each.get("type", "DATASET") == "DATASET" and bound((each["namespace"], each["name"])) == name
        }
        if bound(place.name) == name:
            found |= {
                folded_column(each) for each in (*_columns(place.named), *(place.column_lineage.get("fields") or {}))
            }
    return found


def _lists_too_few(events: Sequence[Json], place: Place) -> bool:
    """Return whether the schema of a run's output is missing, only documentation, or lacks a column of its lineage."""
    bound, run = bound_names(events), [events[each] for each in same_run(events, place.event)]
    own = [each for each in _outputs(events, place.event) if bound(each.name) == bound(place.name)]
    facets = [facets_of(event[entity]).get("lineage") or {} for event in run for entity in ("run", "job")]
    entries = [entry for each in facets for entry in each.get("entries") or []]
    told = [*entries, *(each.facets.get("lineage") or {} for each in own), *(each.column_lineage for each in own)]
    named = {folded_column(column) for each in told for column in each.get("fields") or {}}
    listed = {folded_column(column) for each in own for column in _columns(each.named)}
    return not listed or not named <= listed or any("integration/dbt" in event["producer"] for event in run)


def _may_rewrite(place: Place) -> bool:
    """Return whether a run may replace all rows of an output. A run with CREATE or no lifecycle change never does."""
    return _change(place) in ("OVERWRITE", "TRUNCATE")


def _is_of_a_rewrite(events: Sequence[Json], place: Place) -> bool:
    """Return whether the statement of a run, by its name or its SQL, replaces a whole table."""
    run = [events[each] for each in same_run(events, place.event)]
    nodes = [part for event in run for part in event["job"]["name"].lower().split(".")]
    queries = [(facets_of(event["job"]).get("sql") or {}).get("query") or "" for event in run]
    return any(map(REPLACES.fullmatch, nodes)) or any(EMPTIES.search(query.upper()) for query in queries)


def _selects_by_more(events: Sequence[Json], place: Place) -> bool:
    """Return whether a run with lineage or SQL filters an input by a column that neither of them names."""
    bound, outputs = bound_names(events), _outputs(events, place.event)
    sources = [step for each in outputs for step in steps_of(each.column_lineage)]
    named = {
        folded_column(each.get("field") or "")
        for each in sources
        if bound((each["namespace"], each["name"])) == bound(place.name)
    }
    columns = {folded_column(each) for each in filters(place.named, Names(deliver(events), canonical_form))}
    jobs = [facets_of(events[each]["job"]) for each in same_run(events, place.event)]
    queries = [(job.get("sql") or {}).get("query", "").casefold() for job in jobs]
    named |= {each for each in columns if any(f"`{each}`" in query for query in queries)}
    tells = _has_sql(events, place) or any(each.column_lineage or _has_entries(events, each) for each in outputs)
    return tells and not columns <= named


def _tells_more(events: Sequence[Json], place: Place) -> bool:
    """Return whether an input of a run has tags, other names or a condition in any of its events."""
    mentions = places([events[each] for each in same_run(events, place.event)], "inputs")
    return any(
        each.facets.get("tags") or each.facets.get("symlinks") or _subset_holders(each.named)
        for each in mentions
        if each.name == place.name
    )


def _period_end(event: Json) -> str:
    period = facets_of(event["run"]).get("nominalTime") or {}
    return str(period.get("nominalEndTime") or period.get("nominalStartTime") or event["eventTime"])


def _fields(events: Sequence[Json]) -> Iterator[tuple[Place, str, Facets]]:
    for place in places(events, "outputs"):
        for column, entry in (place.column_lineage.get("fields") or {}).items():
            yield place, column, entry


def _on_field(
    events: Sequence[Json], chance: Random, fields: list[tuple[Place, str]], remove: Any, what: str
) -> Mutation | None:
    if not fields:
        return None
    place, column = chance.choice(fields)

    def change(named: Json) -> None:
        told = (facets_of(named).get("columnLineage") or {}).get("fields") or {}
        for spelling in [each for each in told if folded_column(each) == folded_column(column)]:
            remove(told, spelling)  # other events of the run may spell the column differently

    where = same_run(events, place.event)
    edited = changed_datasets(events, where, "outputs", place.name, change)
    return Mutation(edited, tuple(where), f"{what} of {shown(place.name)}.{column}")


def _drop_facet(events: Sequence[Json], chance: Random, having: list[Place], facet: str) -> Mutation | None:
    if not having:
        return None
    place = chance.choice(having)
    where = same_run(events, place.event)
    edited = changed_datasets(events, where, "outputs", place.name, lambda named: facets_of(named).pop(facet, None))
    return Mutation(edited, tuple(where), f"{facet} of {shown(place.name)}")


def _columns(named: Json) -> list[str]:
    return [each["name"] for each in (facets_of(named).get("schema") or {}).get("fields") or []]


def _change(place: Place) -> str | None:
    return (place.facets.get("lifecycleStateChange") or {}).get("lifecycleStateChange")


def _sources(place: Place) -> set[Name]:
    return {(step["namespace"], step["name"]) for step in steps_of(place.column_lineage)}


def _outputs(events: Sequence[Json], index: int) -> list[Place]:
    run = set(same_run(events, index))
    return [place for place in places(events, "outputs") if place.event in run]


def _newest_lineage(events: Sequence[Json], index: int) -> list[Place]:
    """Return for each output of a run the mention with the newest `columnLineage`, which replaces older ones."""
    telling = [place for place in _outputs(events, index) if place.column_lineage]
    bound = bound_names(events)
    newest = {bound(place.name): place for place in sorted(telling, key=lambda each: order_of(events, each.event))}
    return list(newest.values())


def _inputs(events: Sequence[Json], index: int) -> set[Name]:
    return _names("inputs", [events[each] for each in same_run(events, index)])


def _stay_named(events: Sequence[Json], place: Place, column: str | None = None) -> bool:
    """Return whether a run still names the sources of an output without its lineage, or without one column of it.

    A source without any other mention in the run is lost, because no rule can know that it existed. Lineage that a
    newer event replaced, or that competes with entries of a `lineage` facet (rule 4.1), adds no edge, so only its
    column names can be lost. Information that contradicts the lineage counts only without it: SQL about other columns,
    and reports of a child run or a JobEvent. These must agree with the lineage.
    """
    if _has_entries(events, place) or _is_contradicted(events, place) or _is_explained_otherwise(events, place, column):
        return False
    lost: set[Name] = set()
    named, bound, newest = _inputs(events, place.event), bound_names(events), _newest_lineage(events, place.event)
    for each in _outputs(events, place.event):
        counts = each in newest
        for output, entry in (each.column_lineage.get("fields") or {}).items():
            goes = bound(each.name) == bound(place.name) and (
                column is None or folded_column(column) == folded_column(output)
            )
            sources = {(step["namespace"], step["name"]) for step in entry.get("inputFields") or []}
            if goes or counts:
                (lost if goes else named).update(sources)
        whole = {(step["namespace"], step["name"]) for step in each.column_lineage.get("dataset") or []}
        goes = bound(each.name) == bound(place.name) and column is None
        if goes or counts:
            (lost if goes else named).update(whole)
    return lost <= named


def _has_entries(events: Sequence[Json], place: Place) -> bool:
    """Return whether a `lineage` facet of the run describes an output, so that its `columnLineage` does not count."""
    run, bound = [events[each] for each in same_run(events, place.event)], bound_names(events)
    facets = [facets_of(event[entity]).get("lineage") or {} for event in run for entity in ("run", "job")]
    named = [entry for each in facets for entry in each.get("entries") or [] if entry["type"] == "DATASET"]
    named += [each.named for each in _outputs(events, place.event) if each.facets.get("lineage")]
    return any(bound((each["namespace"], each["name"])) == bound(place.name) for each in named)


def _is_nested_in_another(events: Sequence[Json], place: Place, column: str) -> bool:
    """Return whether the lineage of the run also names a parent or a nested column of an output column."""
    own, bound = folded_column(column), bound_names(events)
    told = [each.column_lineage for each in _outputs(events, place.event) if bound(each.name) == bound(place.name)]
    others = {folded_column(each) for lineage in told for each in lineage.get("fields") or {}}
    return any(each.startswith(own + ".") or own.startswith(each + ".") for each in others)


def _has_sql(events: Sequence[Json], place: Place) -> bool:
    return any(facets_of(events[each]["job"]).get("sql") for each in same_run(events, place.event))


def _is_contradicted(events: Sequence[Json], place: Place) -> bool:
    """Return whether the lineage of an output, in any event of the run, names a column that the SQL does not."""
    bound = bound_names(events)
    told = [each.column_lineage for each in _outputs(events, place.event) if bound(each.name) == bound(place.name)]
    jobs = [facets_of(events[each]["job"]) for each in same_run(events, place.event)]
    queries = [query.casefold() for job in jobs if (query := (job.get("sql") or {}).get("query"))]
    tables = {name[1].casefold() for name in _inputs(events, place.event)}
    return any("*" not in query and not _makes(query, each, tables) for query in queries for each in told if each)


def _makes(query: str, lineage: Facets, tables: set[str]) -> bool:
    """Return whether SQL names the columns of the lineage, and in the generated form also their expressions.

    It returns False if the SQL reads a table that is not an input of its run, because such SQL proves less next to
    lineage than alone.
    """
    fields = {
        column.casefold(): {str(step.get("field", "")).casefold() for step in entry.get("inputFields") or []}
        for column, entry in (lineage.get("fields") or {}).items()
    }
    insert = re.fullmatch(r"insert into \S+ (?:\((.*?)\) )?select (.*?) from (.*)", query)
    if not insert:
        read = set[str]().union(*fields.values())
        return all(each in query.partition("select")[2] for each in read) and all(each in query for each in fields)
    named, made, rest = insert.groups()
    expressions = dict(zip([each.strip("` ") for each in (named or "").split(",")], made.split(","), strict=False))
    from_tables = re.findall(r"(\w+) as \w+", rest)
    whole = {str(step.get("field", "")).casefold() for step in lineage.get("dataset") or []}
    if not all(f"`{each}`" in query for each in whole):
        return False
    sources = {step["name"].casefold() for step in steps_of(lineage)}
    if not all(any(name.endswith(each) for each in from_tables) for name in sources):
        return False  # the SQL makes columns of a different table than the lineage
    return all(any(name.endswith(each) for name in tables) for each in from_tables) and all(
        column in expressions and all(f"`{each}`" in expressions[column] for each in read)
        for column, read in fields.items()
    )


Edges = set[tuple[str, Name, str, str]]
"""Output column (empty for all), source, source column, and transformation."""


def _is_explained_otherwise(events: Sequence[Json], place: Place, column: str | None) -> bool:
    """Return whether a JobEvent or a child run explains a run (rule 4.7) but lacks an edge of its lineage."""
    bound = bound_names(events)
    own = [each for each in _outputs(events, place.event) if bound(each.name) == bound(place.name)]
    lost = set().union(*(_edges(each.named, bound) for each in own))
    if column is not None:
        lost = {edge for edge in lost if edge[0] == folded_column(column)}
    for others in (_of_declarations(events, place), _of_runs_below(events, place)):
        lineage = [
            facets_of(event[entity]).get("lineage") for event in others for entity in ("job", "run") if entity in event
        ]
        outputs = [each for event in others for each in event.get("outputs") or []]
        if any(lineage) or any(facets_of(each).get("lineage") for each in outputs):
            return True
        every = set().union(*(_edges(each, bound) for each in outputs))
        same = [each for each in outputs if bound((each["namespace"], each["name"])) == bound(place.name)]
        kept = set().union(*(_edges(each, bound) for each in same))
        covered, named = {edge[1] for edge in every}, {edge[0] for edge in kept}
        if any(edge[1] in covered or edge[0] in named for edge in lost - kept):
            return True
    return False


def _edges(named: Json, bound: Callable[[Name], Name]) -> Edges:
    lineage = facets_of(named).get("columnLineage") or {}
    told = [(folded_column(output), each.get("inputFields")) for output, each in (lineage.get("fields") or {}).items()]
    return {
        (output, bound((step["namespace"], step["name"])), folded_column(step.get("field") or ""), _kinds(step))
        for output, steps in [*told, ("", lineage.get("dataset"))]
        for step in steps or []
    }


def _kinds(step: Json) -> str:
    how = {(each.get("type"), each.get("masking") is True) for each in step.get("transformations") or []}
    return repr(sorted(how, key=repr))


def _of_declarations(events: Sequence[Json], place: Place) -> list[Json]:
    """Return the JobEvents about the job of a run."""
    job = job_key(events[place.event]["job"])
    return [event for event in events if "job" in event and "run" not in event and job_key(event["job"]) == job]


def _of_runs_below(events: Sequence[Json], place: Place) -> list[Json]:
    """Return the events of all descendants of a run."""
    above = {events[place.event]["run"]["runId"].lower()}
    found: list[Json] = []
    while more := [event for event in events if "run" in event and event not in found and _parent(event) in above]:
        above |= {event["run"]["runId"].lower() for event in more}
        runs = [event for event in events if "run" in event and event["run"]["runId"].lower() in above]
        found += [event for event in runs if event not in found]
    own = events[place.event]["run"]["runId"].lower()
    return [event for event in found if event["run"]["runId"].lower() != own]


def _parent(event: Json) -> str:
    facets = facets_of(event["run"])
    parent = facets.get("parent") or facets.get("parentRun") or {}
    return ((parent.get("run") or {}).get("runId") or "").lower()


def _names(role: str, events: Sequence[Json]) -> set[Name]:
    return {(each["namespace"], each["name"]) for event in events for each in event.get(role) or []}


def _named_sources(events: Sequence[Json]) -> set[tuple[str, str, str]]:
    """Return the type, namespace and name of all inputs and lineage sources in events."""
    found = {("DATASET", *name) for name in _names("inputs", events)}
    for event in events:
        entities = [event[entity] for entity in ("run", "job") if entity in event]
        facets = [facets_of(each).get("lineage") or {} for each in entities]
        entries = [entry for each in facets for entry in each.get("entries") or []]
        sources = [source for entry in entries for source in all_sources({"lineage": entry})]
        sources += [source for place in places([event], "outputs") for source in all_sources(place.facets)]
        found |= {(each.get("type", "DATASET"), each["namespace"], each["name"]) for each in sources}
    return found


def _shortened(name: str) -> str:
    mark = "/" if "/" in name else "."
    first, _, rest = name.strip(mark).partition(mark)
    return rest if first else ""


def _subset_holders(named: Json) -> list[str]:
    holders = ("facets", "inputFacets", "outputFacets")
    return [holder for holder in holders if (named.get(holder) or {}).get("subset")]
