"""Steps that drop, swap, back up and recreate tables, and the orchestrators above the jobs that do so."""

from collections.abc import Callable, Sequence

from tests.reference.world_events import Json, column_lineage, facet, parent, run_event, step
from tests.reference.world_events import source as field_of
from tests.reference.world_lineage import Table
from tests.reference.world_steps import Job, World

DONE = (("COMPLETE",), ("START", "COMPLETE"))


class LivingWorld(World):
    """Generated events in which tables are dropped, recreated and renamed."""

    def steps(self) -> tuple[Callable[[], None], ...]:
        return (
            *super().steps(),
            self.make_anew,
            self.make_anew,
            self.swap,
            self.back_up,
            self.pass_through,
            self.pass_through,
            self.orchestrate,
            self.orchestrate,
            self.create_as_select,
            self.look_at,
            self.go_opaque,
            self.mask_from_now_on,
        )

    def make_anew(self) -> None:
        """Drop a table and write it again, by the same job or another, possibly with a read in between."""
        job, table = self.draw.choice(self.jobs), self.table()
        if self.draw.chance(50):
            self.write(job, table)
        if self.draw.chance(40):
            self.write(self.draw.choice(self.jobs), self.table(), [table])
        self.say_change(job, table, "DROP")
        if self.draw.chance(80):
            self.write(self.draw.choice((job, job, self.draw.choice(self.jobs))), table)

    def swap(self) -> None:
        """CREATE `t_new`, DROP `t`, RENAME `t_new` to `t`. Sometimes the DROP is missing."""
        job, table = self.draw.choice(self.jobs), self.table()
        fresh = self.beside(table, "new")
        self.write(job, fresh)
        if self.draw.chance(70):
            self.say_change(job, table, "DROP")
        self.say_change(job, table, "RENAME", fresh)

    def back_up(self) -> None:
        """Rename as dbt does in each run: the table to `t__backup`, and `t__tmp` to the table."""
        job, table = self.draw.choice(self.jobs), self.table()
        fresh, backup = self.beside(table, "tmp"), self.beside(table, "backup")
        self.write(job, fresh)
        self.say_change(job, backup, "RENAME", table)
        self.say_change(job, table, "RENAME", fresh)
        if self.draw.chance(80):
            self.say_change(job, backup, "DROP")

    def pass_through(self) -> None:
        """Write a table that exists only until other jobs have read it."""
        job, target = self.draw.choice(self.jobs), self.targets()[0]
        stage = self.beside(self.table(), "stage")
        self.write(job, stage)
        if self.draw.chance(80):
            self.write(self.draw.choice((job, self.draw.choice(self.jobs))), target, [stage])
        self.say_change(job, stage, "DROP")

    def orchestrate(self) -> None:
        """Run an Airflow task above a Spark job. It reports inlets and outlets, and ends after all other runs."""
        inlets, outlet = self.sources() or [self.table()], self.targets()[0]
        dag, task = self.new_run(), self.new_run()
        dag_facets = {"parent": parent(dag, ("airflow", "dag"), dag if self.draw.chance(50) else None)}
        if self.draw.chance(30):
            self.say(run_event("START", self.now(), dag, ("airflow", "dag")))
        if self.draw.chance(60):
            self.say_task("START", task, dag_facets, inlets, outlet)
        above = parent(task, ("airflow", "dag.task"), dag if self.draw.chance(60) else None)
        job = self.draw.choice(self.jobs)
        self.say_run(job, [outlet], self.draw.choice(DONE), sources=inlets[:2], run_facets={"parent": above})
        if self.draw.chance(30):
            self.say_change(job, inlets[0], "DROP")
        self.say_task("COMPLETE", task, dag_facets, inlets, outlet)

    def create_as_select(self) -> None:
        """Run a CREATE TABLE AS SELECT, which is two runs of one session, one of them without columns."""
        session, source, target = self.new_run(), self.table(), self.targets()[0]
        told: Json = {"parent": parent(session, ("jobs", "app"), session)}
        statement, half, table = self.new_run(), self.new_run(), target.name[1].rpartition("/")[2]
        named = ("jobs", f"nb.atomic_create_table_as_select.{table}")
        other = (
            "jobs",
            f"nb.{self.draw.choice(('append_data_exec_v1', 'overwrite_by_expression_exec_v1', 'x'))}.{table}",
        )
        inputs = self.author.mentions([source])
        plain = {"inputs": inputs, "outputs": [self.author.mention(target)], "run_facets": told}
        if self.draw.chance(60):
            self.say(run_event("START", self.now(), statement, named, **plain))
        written = [self.author.written([source], target)]
        self.say(run_event("COMPLETE", self.now(), half, other, inputs=inputs, outputs=written, run_facets=told))
        self.say(run_event("COMPLETE", self.now(), statement, named, **plain))

    def look_at(self) -> None:
        """Display rows of a table, in the session of another job or in a new session."""
        job = self.draw.choice((Job("nb.collect", self.draw.choice(self.jobs).session), Job("nb.show", self.new_run())))
        self.say_run(job, [], self.draw.choice(DONE), sources=[self.table()])

    def go_opaque(self) -> None:
        """Write with a job that reported columns before and now reports none, or only that it altered the table."""
        job, target, sources = self.draw.choice(self.jobs), self.targets()[0], [self.table()]
        self.write(job, target, sources)
        job.session = self.new_run()
        mention = self.author.mention(target)
        inputs = self.author.mentions(self.draw.choice((sources, self.sources(), [target], [])))
        run_facets = {"parent": parent(job.session, ("jobs", "app"))}
        self.say(
            run_event(
                "COMPLETE",
                self.now(),
                self.new_run(),
                self.named(job),
                inputs=inputs,
                outputs=[mention],
                run_facets=run_facets,
            )
        )

    def mask_from_now_on(self) -> None:
        """Copy a tagged column in the clear, and masked in the job's next session."""
        job, source, target = self.draw.choice(self.jobs), self.table(), self.targets()[0]
        column = source.columns[0]
        tagged = facet(tags=[{"key": "pii", "value": "true", "field": column}])
        for masking in (False, True):
            job.session = self.new_run()
            inputs = [self.author.mention(source, tags=tagged)]
            origin = field_of(source.name, column, step("DIRECT", masking=masking))
            lineage = column_lineage({each: [origin] for each in target.columns[:2]})
            outputs = [self.author.mention(target, columnLineage=lineage)]
            run_facets = {"parent": parent(job.session, ("jobs", "app"))}
            said = run_event("COMPLETE", self.now(), self.new_run(), self.named(job), inputs=inputs, outputs=outputs)
            said["run"]["facets"] = run_facets
            self.say(said)

    # Helpers

    def write(self, job: Job, table: Table, sources: Sequence[Table] | None = None) -> None:
        if self.draw.chance(50):
            job.session = self.new_run()
        self.say_run(job, [table], self.draw.choice(DONE), sources=self.sources() if sources is None else sources)

    def say_change(self, job: Job, table: Table, change: str, before: Table | None = None) -> None:
        told = facet(lifecycleStateChange=change)
        if before:
            told["previousIdentifier"] = {"namespace": before.name[0], "name": self.author.spelled_name(before)}
        output = self.author.mention(table, lifecycleStateChange=told)
        run, named = self.new_run(), self.named(job)
        for kind in self.draw.choice(DONE):
            self.say(run_event(kind, self.now(), run, named, outputs=[output]))

    def say_task(self, kind: str, run: str, run_facets: Json, inlets: Sequence[Table], outlet: Table) -> None:
        """Send a task event with the knowledge of an Airflow operator: table names, never columns."""
        inputs, outputs = self.author.mentions(inlets), self.author.mentions([outlet])
        named = ("airflow", "dag.task")
        self.say(run_event(kind, self.now(), run, named, inputs=inputs, outputs=outputs, run_facets=run_facets))

    def beside(self, table: Table, suffix: str) -> Table:
        """Return a table with the same columns and a suffixed name, which other jobs may read from now on."""
        name = (table.name[0], f"{table.name[1]}_{suffix}")
        known = [each for each in self.author.tables if each.name == name]
        if not known:
            known = [Table(len(self.author.tables), self.draw)]
            known[0].name, known[0].columns = name, table.columns
            self.author.tables += known
        return known[0]
