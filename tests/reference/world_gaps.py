"""Gaps in column lineage: empty inputs, lineage above a listener's limits, and SQL that explains the rest."""

from collections.abc import Callable, Sequence
from functools import partial

from tests.reference.draws import Draw
from tests.reference.records import facets_of
from tests.reference.world_events import Json, column_lineage, facet, source, step

DECLARE = "urn:headwater:declare"
DBT = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/dbt"


def add_gaps(draw: Draw, events: Sequence[Json]) -> None:
    """Remove lineage from some runs. This draws last, so that the other events do not change."""
    for event in events:
        if "run" not in event and "job" in event and draw.chance(30):
            event["producer"] = DECLARE
    runs = _runs(events)
    for own in runs.values():
        way = draw.number(0, 9)
        if own[0]["job"]["name"] == "dag.task" and way < 5:
            _change_outputs(own, partial(_of_operator, own))
        elif way == 0:
            _change_outputs(own, _without_fields)
        elif way in (1, 2):
            _change_outputs(own, partial(_without_inputs, draw))
        elif way == 3:
            for event in own:
                event["producer"] = DBT
        elif way in (4, 5):
            _explain(draw, own)


def add_unlisted(draw: Draw, events: Sequence[Json]) -> None:
    """Let the lineage of some runs name datasets that they do not list. This draws after everything else."""
    for own in _runs(events).values():
        names = sorted({(each["namespace"], each["name"]) for event in own for each in _sources(event)})
        if names and draw.chance(25):
            name = draw.choice(names)
            way = draw.number(0, 4)
            short = name[1].rpartition("/")[2].rpartition(".")[2]
            other = (short, short, "s0", "elsewhere", name[1])[way]
            if way == 4:
                for event in own:
                    event["inputs"] = [each for each in event.get("inputs") or [] if each["name"] != other]
            _change_outputs(own, partial(_renamed, name, other, without_steps=draw.chance(40)))


def _runs(events: Sequence[Json]) -> dict[str, list[Json]]:
    """Return the distinct events of each run."""
    runs: dict[str, list[Json]] = {}
    for event in events:
        if "run" in event and all(event is not other for other in runs.get(event["run"]["runId"].lower(), ())):
            runs.setdefault(event["run"]["runId"].lower(), []).append(event)
    return runs


def _sources(event: Json) -> list[Json]:
    """Return the sources in the `columnLineage` of an event."""
    told = [facets_of(output).get("columnLineage") or {} for output in event.get("outputs") or []]
    found = [
        each for lineage in told for given in (lineage.get("fields") or {}).values() for each in given["inputFields"]
    ]
    return found + [each for lineage in told for each in lineage.get("dataset") or []]


def _renamed(name: tuple[str, str], other: str, output: Json, *, without_steps: bool) -> Json:
    """Return an output whose lineage uses a different name for a source, possibly without transformations."""
    lineage = facets_of(output).get("columnLineage")
    if not lineage or not (lineage.get("fields") or lineage.get("dataset")):
        return output

    def called(each: Json) -> Json:
        kept = {key: value for key, value in each.items() if key != "transformations" or not without_steps}
        return {**kept, "name": other} if (each["namespace"], each["name"]) == name else kept

    fields = {
        column: {**told, "inputFields": [called(each) for each in told["inputFields"]]}
        for column, told in (lineage.get("fields") or {}).items()
    }
    told = {**lineage, "fields": fields}
    if lineage.get("dataset"):
        told["dataset"] = [called(each) for each in lineage["dataset"]]
    return _with_lineage(output, told)


def _change_outputs(events: Sequence[Json], change: Callable[[Json], Json]) -> None:
    for event in events:
        event["outputs"] = [change(output) for output in event.get("outputs") or []]


def _with_lineage(output: Json, lineage: Json) -> Json:
    return {**output, "facets": {**facets_of(output), "columnLineage": lineage}}


def _fields(output: Json) -> dict[str, Json]:
    return (facets_of(output).get("columnLineage") or {}).get("fields") or {}


def _without_fields(output: Json) -> Json:
    """Keep only the lineage of the whole dataset, as Spark's listener does if a plan has too many columns."""
    inputs = [each for told in _fields(output).values() for each in told["inputFields"]]
    return _with_lineage(output, column_lineage({}, inputs[:1])) if inputs else output


def _without_inputs(draw: Draw, output: Json) -> Json:
    """Report one column without inputs, as Trino does for columns that it cannot follow."""
    fields = _fields(output)
    if not fields:
        return output
    empty = draw.choice(sorted(fields))
    lineage = facets_of(output)["columnLineage"]
    return _with_lineage(output, {**lineage, "fields": {**fields, empty: {"inputFields": []}}})


def _of_operator(events: Sequence[Json], output: Json) -> Json:
    """Report sources for some columns, as Airflow's SQL parser does."""
    inputs = [each for event in events for each in event.get("inputs") or []]
    columns = [each["name"] for each in (facets_of(output).get("schema") or {}).get("fields") or []]
    if not inputs or not columns:
        return output
    origin = source((inputs[0]["namespace"], inputs[0]["name"]), "id", step("DIRECT"))
    return _with_lineage(output, column_lineage({column: [origin][: 1 - at] for at, column in enumerate(columns[:2])}))


def _explain(draw: Draw, events: Sequence[Json]) -> None:
    """Add a SQL statement that names the columns of the lineage and those that the lineage may lack."""
    outputs = [each for event in events for each in event.get("outputs") or []]
    inputs = [each for event in events for each in event.get("inputs") or []]
    if not outputs or not inputs:
        return
    target, origin = draw.choice(outputs), draw.choice(inputs)
    listed = [each["name"] for each in (facets_of(target).get("schema") or {}).get("fields") or []]
    columns = list(dict.fromkeys([*_fields(target), *listed]))
    if not columns or any(", " in column for column in columns):
        return
    told = {column: [each["field"] for each in given["inputFields"]] for column, given in _fields(target).items()}
    values = ", ".join(
        f"s0.`{told[column][0]}`"
        if told.get(column) and draw.chance(90)
        else draw.choice(("1", f"s0.`{column}`", f"md5(s0.`{column}`)"))
        for column in columns
    )
    into = f"{_table(target)} ({', '.join(f'`{column}`' for column in columns)})"
    query = f"INSERT INTO {into} SELECT {values} FROM {_table(origin)} AS s0"
    for event in events:
        event["job"] = {
            **event["job"],
            "facets": {**facets_of(event["job"]), "sql": facet(query=query, dialect="spark")},
        }


def _table(named: Json) -> str:
    return str(named["name"].rpartition("/")[2].rpartition(".")[2])
