"""A pipeline of two DAGs: Airflow tasks start Spark applications, which run statements. One task sends no events."""

from collections.abc import Sequence
from random import Random
from typing import Any

from tests.reference.small_events import Named, run, x_from
from tests.reference.world_events import Json, dataset, facet, uuid

AIRFLOW, SPARK = "airflow", "spark"
LAKE = "s3://lake"
RAW, CLEAN, MIDDLE, SIDE, OUT, REPORT = ((LAKE, name) for name in ("raw", "clean", "middle", "side", "out", "report"))
DAG_RUN, TASK_RUN, APP_RUN, SILENT_TASK_RUN, OTHER_APP, DAG_2 = (uuid(number) for number in range(701, 707))


def kind(word: str, integration: str) -> Json:
    return {"jobType": facet(processingType="BATCH", integration=integration, jobType=word)}


def part_of(run_id: str, job: Named, root: str = DAG_RUN, of: Named = (AIRFLOW, "daily")) -> Json:
    named = {"namespace": job[0], "name": job[1]}
    top = {"run": {"runId": root}, "job": {"namespace": of[0], "name": of[1]}}
    return facet(run={"runId": run_id}, job=named, root=top)


def sent(number: int, second: float, job: Named, *outputs: Json, **more: Any) -> Json:
    """Return a COMPLETE event.

    more: reads, parent, type (jobType and integration), run_facets.
    """
    parent, said = more.pop("parent", None), more.pop("type", None)
    facets = {**more.pop("run_facets", {}), **({"parent": parent} if parent else {})}
    told = kind(*said) if said else {}
    event = run(number, second, *outputs, run_facets=facets, job_facets=told, **more)
    event["job"] |= {"namespace": job[0], "name": job[1]}
    return event


WAITS = {
    "jobDependencies": facet(
        upstream=[
            {
                "job": {"namespace": AIRFLOW, "name": "daily.load"},
                "dependency_type": "DIRECT_INVOCATION",
                "status_trigger_rule": "EXECUTE_ON_SUCCESS",
            }
        ],
        downstream=[{"job": {"namespace": AIRFLOW, "name": "daily.notify"}}],
    )
}
_STATEMENT, _APPLICATION = ("SQL_JOB", "SPARK"), ("APPLICATION", "SPARK")
_LOAD, _APP, _OTHER = (AIRFLOW, "daily.load"), (SPARK, "load_app"), (SPARK, "other_app")

EVENTS: list[Json] = [
    sent(0x2BD, 0, (AIRFLOW, "daily"), type=("DAG", "AIRFLOW")),
    sent(0x2BE, 1, _LOAD, type=("TASK", "AIRFLOW"), parent=part_of(DAG_RUN, (AIRFLOW, "daily"))),
    sent(0x2BF, 2, _APP, type=_APPLICATION, parent=part_of(TASK_RUN, _LOAD)),
    sent(0x2D0, 3, (SPARK, "load_app.insert.clean"), x_from(RAW, CLEAN), type=_STATEMENT,
         parent=part_of(APP_RUN, _APP)),
    sent(0x2D1, 4, (SPARK, "load_app.insert.middle"), x_from(CLEAN, MIDDLE), type=_STATEMENT,
         parent=part_of(APP_RUN, _APP)),
    sent(0x2D2, 5, (SPARK, "load_app.insert.side"), x_from((LAKE, "aside"), SIDE), type=_STATEMENT,
         parent=part_of(APP_RUN, _APP)),
    sent(0x2C1, 6, _OTHER, type=_APPLICATION, parent=part_of(SILENT_TASK_RUN, (AIRFLOW, "weekly.publish"), DAG_2,
                                                             (AIRFLOW, "weekly"))),
    sent(0x2D3, 7, (SPARK, "other_app.insert.out"), x_from(MIDDLE, OUT), type=_STATEMENT,
         parent=part_of(OTHER_APP, _OTHER, DAG_2, (AIRFLOW, "weekly"))),
    sent(0x2D4, 8, (AIRFLOW, "daily.check"), type=("TASK", "AIRFLOW"), parent=part_of(DAG_RUN, (AIRFLOW, "daily")),
         run_facets=WAITS),
    sent(0x2D5, 9, ("scripts", "report"), x_from(OUT, REPORT), reads=[dataset(OUT)]),
]  # fmt: skip
"""`daily` has the tasks load (an application of three statements) and check.

`weekly` has publish, which only its application's events reveal.
"""


def random_pipelines(seed: int) -> list[Json]:
    """Return random statements over a few tables, each possibly with a parent application, task and DAG."""
    chance = Random(seed)
    tables = [(LAKE, f"t{number}") for number in range(8)]
    events: list[Json] = []
    for number in range(chance.randint(3, 14)):
        application, task, dag = (chance.randint(0, most) for most in (4, 2, 1))
        names = ((SPARK, f"app{application}"), (AIRFLOW, f"dag{dag}.task{task}"), (AIRFLOW, f"dag{dag}"))
        ids = (uuid(900 + application), uuid(920 + 10 * dag + task), uuid(950 + dag))
        start, end = chance.sample(tables, 2)
        has_parent = chance.random() < 0.8
        events.append(
            sent(1000 + number, number, (SPARK, f"app{application}.s{number}"), x_from(start, end), type=_STATEMENT,
                 **({"parent": part_of(ids[0], names[0], ids[2], names[2])} if has_parent else {}))
        )  # fmt: skip
        if chance.random() < 0.7:
            events.append(
                sent(900 + application, number + 0.5, names[0], type=_APPLICATION,
                     parent=part_of(ids[1], names[1], ids[2], names[2]))
            )  # fmt: skip
        if chance.random() < 0.5:
            events.append(
                sent(920 + 10 * dag + task, number + 0.7, names[1], type=("TASK", "AIRFLOW"),
                     parent=part_of(ids[2], names[2], ids[2], names[2]))
            )  # fmt: skip
    chance.shuffle(events)
    return events


def reachable(edges: Sequence[tuple[object, object]]) -> set[tuple[object, object]]:
    """Return the transitive closure of the edges."""
    found = set(edges)
    while more := {(a, d) for a, b in found for c, d in edges if b == c} - found:
        found |= more
    return found
