"""Which run read what which run wrote."""

from headwater.events.times import iso
from headwater.index.reading.run_history import RunBeside, RunHistory
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.merged_run import Run
from headwater.questions.about import about_of
from headwater.questions.answers.answer_parts import Job
from headwater.questions.answers.health_answers import NotRefreshed
from headwater.questions.answers.lineage_answers import (
    AskedRun,
    ChildRun,
    OtherRun,
    ReadByRun,
    RunLineage,
    WrittenByRun,
)
from headwater.questions.run_failures import RunWords

_CHILDREN = 200


def run_lineage(runs: RunHistory, key: str, words: RunWords, left: list[NotRefreshed]) -> RunLineage:
    """Answer what a run read and who had written it, what it wrote and who read that before the next write, its parts.

    words: what its events say beside lineage; left: what it did not refresh.
    """
    run = runs.run(key)
    unread = runs.unread(run.key) if run.script else {}
    children = [ChildRun(*_shown(each), each.state) for each in runs.children(run.key, _CHILDREN + 1)]
    return RunLineage(
        AskedRun(run.key, Job(*run.job.parts), run.state, run.execution, iso(run.started_us), iso(run.ended_us)),
        words.errors,
        words.tests,
        words.sql,
        about_of({**words.job, "tags": words.run.get("tags")}),
        left,
        [ReadByRun(*name.parts, _writer(runs, name, run)) for name in sorted({*run.inputs, *runs.read_by(run.key)})],
        [
            WrittenByRun(
                *name.parts,
                [OtherRun(*_shown(each)) for each in runs.read_after(name, run.time_us)],
                unread.get(name.plain),
            )
            for name in sorted(run.outputs)
        ],
        children[:_CHILDREN],
        len(children) > _CHILDREN,
    )


def _writer(runs: RunHistory, dataset: Name, run: Run) -> OtherRun | None:
    found = runs.written_before(dataset, run.time_us, run.key)
    return OtherRun(*_shown(found)) if found else None


def _shown(run: RunBeside) -> tuple[str, str | None, Job]:
    return run.key, iso(run.time_us), Job(*run.job.parts)
