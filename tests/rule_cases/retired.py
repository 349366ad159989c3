"""R6.11: a deleted job no longer uses anything. Its output remains until it is overwritten or the job runs again."""

from tests.reference.retired import deletion
from tests.reference.world_events import at, facet, job_event
from tests.rule_cases.case import Case, case, impact, surface, unused, upstream
from tests.rule_cases.events import begun, done, table, writes

A = table("a", "x y")
COPY = done(1, 1, writes("b", {"x": "a.x"}), of=[A], job="load")
OTHER = done(2, 2, writes("c", {"y": "a.y"}), of=[A], job="other")
DELETED = deletion(10, "jobs", "load")
ARTIFACT = {"spark_properties": facet(properties={"trident.artifact.id": "0195c000"})}
NOT_THE_JOB = deletion(10, "jobs", "load", kind="DATASET")
OVERWRITTEN = done(3, 20, writes("b", {"x": "d.x"}, says="OVERWRITE"), of=[table("d", "x")], job="anew")
GONE = (unused("a", {"x": "unused", "y": "used"}), impact("a.x", {}))
USED = (unused("a", {"x": "used", "y": "used"}), impact("a.x", {"b.x": "1"}))

CASES: list[Case] = [
    case(
        "R6.11 newest executions of a deleted job say nothing",
        [COPY, OTHER, DELETED],
        *GONE,
        upstream("b.x", {}),
        surface("a.x", {}),
    ),
    case(
        "R6.11 another job overwrites what a deleted job wrote",
        [COPY, OTHER, DELETED, OVERWRITTEN],
        *GONE,
        upstream("b.x", {"d.x": "1"}),
        surface("a.x", {}),
    ),
    case(
        "R6.11 a later run brings a deleted job back",
        [COPY, OTHER, DELETED, done(4, 11, writes("b", {"x": "a.x"}), of=[A], job="load")],
        *USED,
    ),
    case("R6.11 a later run without datasets does, too", [COPY, OTHER, DELETED, begun(4, 11, job="load")], *USED),
    case("R6.11 before it was deleted the job counts", [COPY, OTHER, DELETED], *USED, as_of=5),
    case("R6.11 a dataset of the same name is no job", [COPY, OTHER, NOT_THE_JOB], *USED),
    case(
        "R6.11 the namespace of a job was deleted",
        [COPY, OTHER, deletion(10, "jobs", "", kind="NAMESPACE")],
        unused("a", {"x": "unused", "y": "unused"}),
        upstream("b.x", {}),
    ),
    case(
        "R6.11 a run that did not complete leaves no use open once its job is deleted",
        [COPY, OTHER, begun(5, 5, writes("e", {"x": "a.x"}), of=[A], job="load"), DELETED],
        *GONE,
        surface("a.x", {"e.x": "unknown"}),
    ),
    case(
        "R6.11 a deleted job has no declared lineage",
        [job_event(at(1), ("jobs", "load"), [A], [writes("b", {"x": "a.x"})]), OTHER, DELETED],
        *GONE,
        upstream("b.x", {}),
    ),
    case(
        "R6.11 a job that is known by the id of an artifact is deleted by the name of its newest run",
        [
            done(1, 1, writes("b", {"x": "a.x"}), of=[A], job="nb.load", run_facets=ARTIFACT),
            done(4, 2, writes("b", {"x": "a.x"}), of=[A], job="renamed.load", run_facets=ARTIFACT),
            OTHER,
            deletion(10, "jobs", "renamed.load"),
        ],
        *GONE,
    ),
    case(
        "R6.11 the name of an older run deletes no job that is known by the id of an artifact",
        [
            done(1, 1, writes("b", {"x": "a.x"}), of=[A], job="nb.load", run_facets=ARTIFACT),
            done(4, 2, writes("b", {"x": "a.x"}), of=[A], job="renamed.load", run_facets=ARTIFACT),
            OTHER,
            deletion(10, "jobs", "nb.load"),
        ],
        *USED,
    ),
]
