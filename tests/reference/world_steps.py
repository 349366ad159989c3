"""The steps that generate events: runs, streams, changes of tables, and declarations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.reference.draws import Draw
from tests.reference.world_events import (
    PRODUCER,
    Json,
    at,
    dataset_event,
    facet,
    job_event,
    parent,
    run_event,
    uuid,
)
from tests.reference.world_lineage import Author, Table

ENDS = (
    ("START", "COMPLETE"),
    ("COMPLETE",),
    ("START", "RUNNING", "COMPLETE"),
    ("START", "COMPLETE"),
    ("START", "COMPLETE", "OTHER"),
    ("START", "COMPLETE", "FAIL"),
    ("START", "COMPLETE", "START", "FAIL"),
    ("START", "FAIL", "START", "COMPLETE", "START"),
    ("COMPLETE", "ABORT"),
    ("START", "FAIL"),
    ("START",),
)
CHANGES = ("DROP", "CREATE", "RENAME", "OVERWRITE", "TRUNCATE", "ALTER", "DROP", "RENAME")


@dataclass
class Job:
    name: str
    session: str


class World:
    """The generated events, and the tables and jobs in them."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.events: list[Json] = []
        self.author = Author(draw, [Table(number, draw) for number in range(draw.number(2, 6))])
        self.runs, self.second = 0, 0
        self.jobs = [Job(name, self.new_run()) for name in ("nb.copy", "nb.merge", "etl", "nb_S.load")][
            : draw.number(1, 4)
        ]

    def play(self) -> None:
        self.draw.choice(self.steps())()

    def steps(self) -> tuple[Callable[[], None], ...]:
        return (
            self.run,
            self.run,
            self.run,
            self.again,
            self.loop,
            self.stream,
            self.change,
            self.change,
            self.declare_job,
            self.declare_dataset,
            self.self_loop,
            self.application,
            self.scan,
        )

    # Steps

    def run(self) -> None:
        job = self.draw.choice(self.jobs)
        if self.draw.chance(35):
            job.session = self.new_run()
        self.say_run(job, self.targets())

    def loop(self) -> None:
        """Append to one table several times in one session."""
        job, target = self.draw.choice(self.jobs), self.targets()[0]
        for _ in range(self.draw.number(2, 3)):
            self.say_run(job, [target], self.draw.choice((("COMPLETE",), ("START", "COMPLETE"), ())))

    def again(self) -> None:
        """Write one table repeatedly, each time in a new session."""
        job, target = self.draw.choice(self.jobs), self.targets()[0]
        for _ in range(self.draw.number(2, 3)):
            job.session = self.new_run()
            self.say_run(job, [target], self.draw.choice(((), ("COMPLETE",))))

    def stream(self) -> None:
        mode = self.draw.choice(("ACCUMULATIVE", "COMPLETE_SNAPSHOT"))
        kind = self.draw.choice(({"processingType": "STREAMING", "integration": "SPARK"}, FLINK, SERVICE))
        pattern = {"eventTrigger": "PERIODIC", "eventContentMode": mode}
        job_type = facet(jobType="JOB", emissionPattern=pattern, **kind)
        ends = self.draw.choice(
            (("START", "RUNNING", "RUNNING"), ("RUNNING",), ("RUNNING", "COMPLETE"), ("START", "FAIL"))
        )
        targets = [] if self.draw.chance(20) else self.targets()
        self.say_run(self.draw.choice(self.jobs), targets, ends, {"jobType": job_type})

    def change(self) -> None:
        """Drop, rename, create or otherwise change a table."""
        table, change = self.table(), self.draw.choice(CHANGES)
        told = facet(lifecycleStateChange=change)
        if change == "RENAME":
            before, table = table, self.author.new_name(table)
            told["previousIdentifier"] = {"namespace": before.name[0], "name": self.author.spelled_name(before)}
        output = self.author.mention(table, lifecycleStateChange=told)
        inputs = self.author.mentions(self.sources()) if self.draw.chance(20) else []
        run, job = self.new_run(), self.draw.choice(self.jobs)
        for kind in self.draw.choice((("COMPLETE",), ("START", "COMPLETE"), ("START", "FAIL"))):
            self.say(run_event(kind, self.now(), run, self.named(job), inputs=inputs, outputs=[output]))

    def declare_job(self) -> None:
        sources, targets = self.sources(), self.targets()
        outputs = [self.author.written(sources, target) for target in targets]
        facets: Json = {}
        if self.draw.chance(15):
            facets["lineage"] = self.author.lineage_entries(sources, targets)
        inputs = self.author.mentions(sources)
        self.say(job_event(self.now(), self.named(self.draw.choice(self.jobs)), inputs, outputs, **facets))

    def declare_dataset(self) -> None:
        """Declare the sources or tags of a dataset, as a catalog or a person does."""
        producer = self.draw.choice((PRODUCER, PRODUCER + "/other"))
        target = self.table()
        tags = {"tags": self.author.tags(target)} if self.draw.chance(60) else {}
        about = self.author.mention(target, **tags) if tags else self.author.written(self.sources(), target)
        self.say(dataset_event(self.now(), about, producer))

    def self_loop(self) -> None:
        """Run an RDD job that names its input path as its output, too."""
        same, (namespace, name) = self.author.mentions([self.table()]), self.named(self.jobs[0])
        job = (namespace, name.partition(".")[0] + ".map_partitions_parallel_collection")
        self.say(run_event("COMPLETE", self.now(), self.new_run(), job, inputs=same, outputs=same))

    def application(self) -> None:
        job = self.draw.choice(self.jobs)
        job.session = self.new_run()
        self.say(run_event("START", self.now(), job.session, ("jobs", "app")))

    def scan(self) -> None:
        """Read only: Delta reads its own log, or a query displays rows."""
        inputs = [self.author.noise(self.table()), *self.author.mentions(self.sources()[:1])]
        self.say(run_event("COMPLETE", self.now(), self.new_run(), ("jobs", "scan_json"), inputs=inputs))

    # Helpers

    def say_run(
        self,
        job: Job,
        targets: Sequence[Table],
        ends: Sequence[str] = (),
        job_facets: Json | None = None,
        *,
        sources: Sequence[Table] | None = None,
        run_facets: Json | None = None,
    ) -> None:
        run, named, changes = self.new_run(), self.named(job), bool(ends) and sources is None
        sources = self.sources() if sources is None else sources
        run_facets = self._run_facets(job) if run_facets is None else run_facets
        for kind in ends or self.draw.choice(ENDS):
            inputs = [] if self.draw.chance(20) else self.author.mentions(sources)
            if self.draw.chance(10):
                inputs.append(self.author.noise(self.table()))
            outputs = [] if self.draw.chance(10) else [self.author.written(sources, target) for target in targets]
            entries = {"lineage": self.author.lineage_entries(sources, targets)} if self.draw.chance(5) else {}
            on_run, on_job = self.draw.choice(((entries, {}), ({}, entries)))
            event = run_event(
                kind,
                self.now(),
                run.upper() if self.draw.chance(5) and run.startswith("0195c000") else run,
                named,
                inputs=inputs,
                outputs=outputs,
                run_facets=run_facets | on_run,
                job_facets=(job_facets or {}) | on_job,
            )
            self.say(event)
            if changes and self.draw.chance(40):
                sources = self.sources()

    def _run_facets(self, job: Job) -> Json:
        facets: Json = {}
        if self.draw.chance(85):
            facets["parent"] = parent(job.session, ("jobs", "app"), job.session if self.draw.chance(50) else None)
        if self.draw.chance(10):
            key = self.draw.choice(("trident.artifact.id", "spark.trident.artifact.id"))
            facets["spark_properties"] = facet(properties={key: "artifact-1"})
        return facets

    def named(self, job: Job) -> tuple[str, str]:
        session = self.draw.choice((uuid(self.runs), uuid(self.runs).replace("-", "_")))
        return "jobs", job.name.replace("nb_S", f"nb_{session}")

    def new_run(self) -> str:
        self.runs += 1
        return f"manual-{self.runs % 3}" if self.draw.chance(8) else uuid(self.runs)

    def now(self) -> str:
        """Return the time of the next event: mostly later, sometimes earlier, in the future, without zone,
        or invalid.
        """
        self.second += self.draw.choice((1, 0, 1, 2, 7))
        odd = self.draw.number(0, 99)
        if odd < 80:
            return at(self.second)
        if odd < 88:
            return at(self.second - self.draw.number(1, 9))
        if odd < 91:
            return at(self.second + 48 * 3600)
        if odd < 94:
            return at(self.second).removesuffix("Z")
        if odd < 98:
            return at(self.second + 7200).removesuffix("Z") + "+02:00"
        return "yesterday"

    def say(self, event: Json) -> None:
        self.events.append(event)

    def table(self) -> Table:
        return self.draw.choice(self.author.tables)

    def targets(self) -> list[Table]:
        """Return outputs, mostly from the first two tables, so that one table has several writers."""
        among = self.author.tables[: self.draw.choice((2, 2, len(self.author.tables)))]
        return [self.draw.choice(among) for _ in range(2 if self.draw.chance(15) else 1)]

    def sources(self) -> list[Table]:
        return [self.table() for _ in range(self.draw.choice((1, 2, 0, 3)))]


FLINK = {"processingType": "BATCH", "integration": "FLINK"}
SERVICE = {"processingType": "SERVICE", "integration": "CUSTOM"}
