"""R4.13: a job as the target of an entry in a `lineage` facet. Its sources are used."""

from typing import Any

from tests.reference.world_events import Json, at, facet, job_event
from tests.rule_cases.case import case, edges, stops, surface, unused
from tests.rule_cases.events import begun, below, done, entry, sources, table, tagging, writes

A, B, C = table("a", "x y"), table("b", "x"), table("c", "k")
COPY = writes("b", {"x": "a.x"})
OPEN_A = {"x": "unknown: opaque", "y": "unknown: opaque"}
READ_A = [done(2, 2, writes("d", {"z": "a.x"}), of=[A])]
"""Another job reads a and reports everything that it uses."""


def of_job(name: str = "") -> Json:
    return {"type": "JOB"} | ({"namespace": "jobs", "name": name} if name else {})


def feeds(*told: str, into: str = "", **more: Any) -> Json:
    """Return an entry about a job, by default that of the event. `told`: `dataset`, `dataset.column` or `@job`."""
    inputs = [of_job(each[1:]) if each.startswith("@") else _source(each) for each in told]
    return {**of_job(into), "inputs": inputs, **more}


def _source(told: str) -> Json:
    (found,) = sources(told)
    return {key: value for key, value in found.items() if key != "field" or value} | {"type": "DATASET"}


def says(*entries: Json) -> dict[str, Any]:
    return {"run_facets": {"lineage": facet(entries=list(entries))}}


FROM_REPORT = {**entry("e", {}), "inputs": [of_job("report")]}
"""The job `report` feeds all of e."""

OWN = [
    case(
        "R4.13 a column that feeds the job of the run is used, and no column of its dataset is proven to be unused",
        [done(1, 3, COPY, of=[A], **says(feeds("a.y"))), *READ_A],
        unused("a", {"x": "used", "y": "used"}),
        edges("a.x > b.x", "a.x > d.z", "a.y > b.x indirect"),
        stops("a.y", "a"),
    ),
    case(
        "R4.13 a dataset that feeds the job of the run is opaque, even if column lineage names some of its columns",
        [done(1, 3, COPY, of=[A], **says(feeds("a"))), *READ_A],
        unused("a", {"x": "used", "y": "unknown: opaque"}),
        stops("a.y", "a"),
    ),
    case(
        "R4.13 a job is named as its events name it",
        [done(1, 3, COPY, of=[A], job="load", **says(feeds("a.y", into="load"))), *READ_A],
        unused("a", {"x": "used", "y": "used"}),
    ),
    case(
        "R4.13 what feeds the job of a run is an input of the run",
        [done(1, 3, B, **says(feeds("a"))), tagging(2, "a.x"), *READ_A],
        unused("a", {"x": "used", "y": "unknown: opaque"}),
        surface("#pii", {"b.x": "unknown", "d.z": "exposed"}),
        edges("a.x > d.z"),
        stops("a.y", "a"),
    ),
    case(
        "R4.13 a job that writes nothing uses what feeds it",
        [done(1, 3, **says(feeds("a.x"))), done(2, 2, writes("d", {"z": "a.y"}), of=[A])],
        unused("a", {"x": "unknown: opaque", "y": "used"}),
        stops("a.x", "a"),
    ),
    case(
        "R4.13 an input that feeds no job is only shown",
        [done(1, 3, of=[A, C], **says(feeds("c.k"))), *READ_A],
        unused("a", {"x": "used", "y": "unused"}),
        unused("c", {"k": "unknown: opaque"}),
    ),
    case(
        "R4.13 a job that feeds the job of the run is followed",
        [
            done(7, 1, table("e", "z"), of=[C], job="load"),
            tagging(2, "c.k"),
            done(1, 3, B, **says(feeds("@load"))),
        ],
        surface("#pii", {"b.x": "unknown", "e.z": "unknown"}),
        stops("c.k", "c"),
    ),
]

OTHERS = [
    case(
        "R4.13 what a run reports to feed another job is not in its own outputs",
        [
            done(1, 3, writes("b", {"x": "c.k"}), of=[C], **says(feeds("a.x", into="report"))),
            tagging(2, "a.x"),
            *READ_A,
        ],
        unused("a", {"x": "used", "y": "unknown: opaque"}),
        surface("#pii", {"d.z": "exposed"}),
        edges("c.k > b.x", "a.x > d.z"),
        stops("a.y", "a"),
    ),
    case(
        "R4.13 a dataset that feeds a job may be in what the job feeds",
        [
            done(1, 3, **says(feeds("a.x", into="report"))),
            done(3, 4, table("e", "z"), **says(FROM_REPORT)),
            tagging(2, "a.x"),
        ],
        surface("#pii", {"e.z": "unknown"}),
        stops("a.x", "a"),
    ),
    case(
        "R4.13 jobs that feed jobs are followed",
        [
            done(1, 3, **says(feeds("a.x", into="first"), feeds("@first", into="report"))),
            done(3, 4, table("e", "z"), **says(FROM_REPORT)),
            tagging(2, "a.x"),
        ],
        surface("#pii", {"e.z": "unknown"}),
    ),
    case(
        "R4.13 each job of a facet is fed by its own sources",
        [
            done(1, 3, **says(feeds("a.x", into="first"), feeds("c.k", into="report"))),
            done(3, 4, table("e", "z"), **says(FROM_REPORT)),
            tagging(2, "a.x"),
        ],
        surface("#pii", {}),
        unused("c", {"k": "unknown: opaque"}),
    ),
    case(
        "R4.13 the newest report of what feeds a job counts",
        [
            done(1, 3, **says(feeds("c.k", into="report"))),
            done(1001, 5, job="job1", **says(feeds("a.x", into="report"))),
            *READ_A,
            done(4, 2, writes("f", {"z": "c.k"}), of=[C]),
        ],
        unused("a", {"x": "used", "y": "unknown: opaque"}),
        unused("c", {"k": "used"}),
    ),
    case(
        "R4.13 a declaration of what feeds its job",
        [
            job_event(at(1), ("jobs", "report"), [], [], lineage=facet(entries=[feeds("a.x")])),
            *READ_A,
        ],
        unused("a", {"x": "used", "y": "unknown: opaque"}),
        stops("a.y", "a"),
    ),
    case(
        "R4.13 a run that did not complete reports what feeds a job",
        [begun(1, 3, **says(feeds("a.x", into="report"))), *READ_A],
        unused("a", {"x": "used", "y": "unknown: attempted"}),
        stops("a.y", "a"),
    ),
    case(
        "R4.13 a run below explains nothing of what feeds another job",
        [
            done(1, 3, **says(feeds("a", into="report"))),
            done(5, 2, writes("b", {"x": "a.x"}), of=[A], under=below(1)),
            *READ_A,
        ],
        unused("a", {"x": "used", "y": "unknown: opaque"}),
    ),
]

CASES = [*OWN, *OTHERS]
