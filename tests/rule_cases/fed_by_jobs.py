"""R4.12: a job as the source of a field or dataset. The job is followed to its inputs."""

from collections.abc import Mapping
from typing import Any

from tests.reference.world_events import Json, facet
from tests.rule_cases.case import case, impact, stops, surface, tagged, unused, upstream
from tests.rule_cases.events import begun, declared, done, entry, table, tagging, writes
from tests.rule_cases.periods import period

A, B, C = table("a", "x y"), table("b", "x at"), table("c", "k")
COPY = {"x": "a.x"}


def of_job(name: str) -> Json:
    """Return a job as a source. `self` stands for the job itself and has no name."""
    return {"type": "JOB"} | ({} if name == "self" else {"namespace": "jobs", "name": name})


def fed(fields: Mapping[str, str], whole: str = "", name: str = "b", **more: str) -> dict[str, Any]:
    """Return a `lineage` facet of a dataset.

    more: fields that jobs feed. whole: a job that feeds all of it.
    """
    told = entry(name, fields)
    told["fields"] |= {field: {"inputs": [of_job(job)]} for field, job in more.items()}
    told["inputs"] += [of_job(whole)] if whole else []
    return {"run_facets": {"lineage": facet(entries=[told])}}


LOAD = done(7, 1, table("d", "z"), of=[C], job="load")
"""The job `load` reads c and reports no columns."""
SHOW = done(7, 1, of=[C], job="load")
TAGS_A, TAGS_C = tagging(2, "a.x"), tagging(2, "c.k")
OPEN = {"b.x": "unknown", "b.at": "unknown"}

WHOLE = [
    case(
        "R4.12 a job that no event knows feeds a dataset of a run that reads nothing: it may hold whatever is tagged",
        [done(1, 3, B, **fed({}, "nobody")), done(2, 2, A), TAGS_A],
        surface("#pii", OPEN),
        surface("a.y", OPEN),
        upstream("b.x", {}),
    ),
    case(
        "R4.12 nothing is unknown where nothing is tagged",
        [done(1, 3, B, **fed({}, "nobody")), done(2, 2, A)],
        surface("#pii", {}),
        as_of=100,  # the cases about the present share a lake, in which other cases tag columns
    ),
    case(
        "R4.12 a job that no event knows feeds a dataset of a run that reads another one",
        [done(1, 3, B, of=[A], **fed({}, "nobody")), done(2, 2, C), TAGS_C],
        surface("#pii", OPEN),
        unused("a", {"x": "unknown: opaque", "y": "unknown: opaque"}),
    ),
    case(
        "R4.12 a job that reads a dataset feeds another one",
        [LOAD, TAGS_C, done(1, 3, B, **fed({}, "load")), done(2, 3, A)],
        surface("#pii", OPEN | {"d.z": "unknown"}),
        surface("a.y", {}),
        unused("c", {"k": "unknown: opaque"}),
        stops("c.k", "c"),
    ),
    case(
        "R4.12 what a job only reads feeds the dataset, too",
        [SHOW, TAGS_C, done(1, 3, B, **fed({}, "load"))],
        surface("#pii", OPEN),
        unused("c", {"k": "unknown: opaque"}),
        stops("c.k", "c"),
    ),
    case(
        "R4.12 a job that reports the columns it reads, for its own output",
        [done(7, 1, writes("d", {"z": "c.k#"}), of=[C], job="load"), TAGS_C, done(1, 3, B, **fed({}, "load"))],
        surface("#pii", OPEN | {"d.z": "masked"}),
        stops("c.k", "c"),
    ),
    case(
        "R4.12 a job of a streaming run without an output reads, too",
        [
            done(7, 1, of=[C], job="load", kind="RUNNING", job_facets={"jobType": facet(processingType="STREAMING")}),
            TAGS_C,
            done(1, 3, B, **fed({}, "load")),
        ],
        surface("#pii", OPEN),
    ),
    case(
        "R4.12 of a job all executions count, for rows of older ones may still be there",
        [LOAD, done(8, 2, table("d", "z"), of=[A], job="load"), TAGS_C, done(1, 3, B, **fed({}, "load"))],
        surface("c.k", OPEN),
        surface("a.x", OPEN | {"d.z": "unknown"}),
    ),
    case(
        "R4.12 a backfill does not show what the newest execution of a job read",
        [
            done(7, 2, table("d", "z"), of=[C], job="load", run_facets=period(-9000, -8000)),
            done(8, 1, writes("d", {"z": ""}), job="load"),
            TAGS_A,
            done(1, 3, B, **fed({}, "load")),
            done(2, 3, A),
        ],
        surface("#pii", OPEN),
    ),
    case(
        "R4.12 a run that reads nothing names its own job: what another run of the job reads shows nothing",
        [
            begun(1, 3, B, job="load", **fed({}, "load")),
            done(7, 1, writes("b", {"x": "c.k", "at": "c.k"}), of=[C], job="load"),
            TAGS_A,
            done(2, 3, A),
        ],
        surface("#pii", OPEN),
    ),
    case(
        "R4.12 the job of the run itself is followed through the inputs of the run",
        [done(1, 3, B, of=[A], job="load", **fed({}, "load")), TAGS_A, done(2, 2, C)],
        surface("#pii", OPEN),
        surface("c.k", {}),
    ),
    case(
        "R4.12 the job of the run itself, which reads nothing, may write anything",
        [done(1, 3, B, job="load", **fed({}, "load")), TAGS_A, done(2, 2, A)],
        surface("#pii", OPEN),
    ),
    case(
        "R4.12 a job is followed through jobs that feed it",
        [
            LOAD,
            TAGS_C,
            done(5, 2, table("e", "z"), job="middle", **fed({}, "load", "e")),
            done(2, 2, A),
            done(1, 3, B, **fed({}, "middle")),
        ],
        surface("#pii", OPEN | {"d.z": "unknown", "e.z": "unknown"}),
        surface("a.x", {}),
        stops("c.k", "c"),
    ),
    case(
        "R4.12 jobs that feed each other lead to no dataset",
        [
            done(5, 2, table("e", "z"), job="middle", **fed({}, "end", "e")),
            done(2, 2, A),
            TAGS_A,
            done(1, 3, B, job="end", **fed({}, "middle")),
        ],
        surface("#pii", OPEN | {"e.z": "unknown"}),
    ),
    case(
        "R4.12 a job whose key has no run in its name is the same from run to run",
        [
            done(7, 1, table("d", "z"), of=[C], job="load_2026-11-18"),
            TAGS_C,
            done(2, 2, A),
            done(1, 3, B, **fed({}, "load_2026-11-19")),
        ],
        surface("#pii", OPEN | {"d.z": "unknown"}),
        surface("a.x", {}),
    ),
    case(
        "R4.12 what a declared job reads",
        [declared(1, writes("d", {"z": "c.k"}), of=[C], job="load"), TAGS_C, done(1, 3, B, **fed({}, "load"))],
        surface("#pii", OPEN | {"d.z": "exposed"}),
    ),
    case(
        "R4.12 a column edge beside the job accounts for its column",
        [LOAD, TAGS_C, done(1, 3, B, of=[A], **fed(COPY, "load"))],
        surface("#pii", {"b.at": "unknown", "d.z": "unknown"}),
        surface("a.x", {"b.x": "exposed", "b.at": "unknown"}),
        stops("c.k", "c"),
    ),
    case(
        "R4.12 a run that did not complete names a job that no event knows",
        [begun(1, 3, B, **fed({}, "nobody")), done(2, 2, A), TAGS_A],
        surface("#pii", OPEN),
    ),
    case(
        "R4.12 a run that did not complete names a job that reads a dataset",
        [LOAD, TAGS_C, begun(1, 3, B, **fed({}, "load")), done(2, 2, A)],
        surface("#pii", OPEN | {"d.z": "unknown"}),
        surface("a.x", {}),
        unused("c", {"k": "unknown: opaque"}),
    ),
    case(
        "R4.12 a tagged column is readable if a job may have written it",
        [done(1, 3, B, **fed({}, "nobody")), done(3, 2, writes("b", {"x": "a.x#"}), of=[A]), tagging(2, "b.x")],
        tagged("#pii", {"b.x": "exposed"}),
    ),
]

FIELDS = [
    case(
        "R4.12 a job without a name is that of the run, and a field that it feeds is not made of nothing",
        [done(1, 3, B, of=[A], job="load", **fed(COPY, at="self")), TAGS_A],
        surface("#pii", {"b.x": "exposed", "b.at": "unknown"}),
        surface("a.y", {"b.at": "unknown"}),
    ),
    case(
        "R4.12 a job without a name that reads nothing may write anything into a field",
        [done(1, 3, table("b", "at"), job="load", **fed({}, at="self")), done(2, 2, A), TAGS_A],
        surface("#pii", {"b.at": "unknown"}),
    ),
    case(
        "R4.12 a job that no event knows feeds a field",
        [done(1, 3, B, of=[A], **fed(COPY, at="nobody")), done(2, 2, C), TAGS_C],
        surface("#pii", {"b.at": "unknown"}),
        unused("a", {"x": "used", "y": "unknown: unaccounted"}),
        surface("a.x", {"b.x": "exposed", "b.at": "unknown"}),
        upstream("b.at", {}),
    ),
    case(
        "R4.12 a job that no event knows feeds a field of a run that reads nothing else",
        [done(1, 3, table("b", "at"), **fed({}, at="nobody")), done(2, 2, A), TAGS_A],
        surface("#pii", {"b.at": "unknown"}),
    ),
    case(
        "R4.12 a job that reads a dataset feeds a field",
        [LOAD, TAGS_C, done(1, 3, B, of=[A], **fed(COPY, at="load"))],
        surface("#pii", {"b.at": "unknown", "d.z": "unknown"}),
        surface("a.x", {"b.x": "exposed", "b.at": "unknown"}),
        unused("c", {"k": "unknown: opaque"}),
        impact("c.k", {}),
        stops("c.k", "c"),
    ),
    case(
        "R4.12 a declaration of the job of the run explains what it covers",
        [
            done(7, 1, table("d", "z"), of=[C], job="load"),
            TAGS_C,
            done(1, 3, B, of=[A], job="nightly", **fed(COPY, at="load")),
            declared(2, writes("b", COPY | {"at": "c.k#"}), of="a c", job="nightly"),
        ],
        surface("#pii", {"b.at": "masked", "d.z": "unknown"}),
    ),
    case(
        "R4.12 what jobs feed is masked nowhere else",
        [LOAD, TAGS_C, done(1, 3, B, of=[C], **fed({"x": "c.k#"}, at="load"))],
        surface("#pii", {"b.x": "masked", "b.at": "unknown", "d.z": "unknown"}),
    ),
]

BOTH = fed(COPY)
BOTH["run_facets"]["lineage"]["entries"][0]["fields"]["x"]["inputs"].append(of_job("load"))
FIELDS.append(
    case(
        "R8.2 a field that a column and a job feed is open to what the dataset is also made of",
        [
            LOAD,
            done(1, 3, table("b", "x"), of=[A], **BOTH),
            done(2, 4, writes("b", {"k": "e.k"}), of=[table("e", "k")]),
        ],
        surface("e.k", {"b.k": "exposed", "b.x": "unknown"}),
    )
)

CASES = [*WHOLE, *FIELDS]
