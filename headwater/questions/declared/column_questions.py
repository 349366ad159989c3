"""What becomes of columns: where tagged ones end up, which nobody uses, which nobody told of."""

from contextlib import suppress

from headwater.errors import NotKnown
from headwater.lineage.time.as_of import AsOf
from headwater.paging import ListPage
from headwater.questions import parameters as p
from headwater.questions.answers import column_answers, lineage_answers
from headwater.questions.coverage import coverage as coverage_of
from headwater.questions.declared.question_sources import QuestionSources, hides
from headwater.questions.declaring import question
from headwater.questions.exposure import Place, exposures, look_for
from headwater.questions.subjects import Subject
from headwater.questions.verdicts import verdicts


@question("surface")
def surface(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.AnyDataset = None, column: p.Column = None,
    tag: p.Tag = "pii", since: p.Since = None, exposure: p.Exposure = None, page: ListPage, as_of: AsOf,
) -> column_answers.Surface:  # fmt: skip
    """List where tagged columns, or one column, end up: exposed, masked, or unknown.

    The tagged columns come first (`tagged`): one is exposed unless every write of it masks.
    Masked code is not masked data: `exposed_until` names when a column was last written without a mask, and
    once_exposed is what only earlier writes reach in the clear, whose rows are still there.
    With `since` only what was not exposed then and is now.
    """
    source = Subject(namespace, dataset, column) if dataset else None
    before: set[Place] | None = None
    if since is not None:
        with sources.open_views.look(as_of._replace(as_of_us=since)) as then, suppress(NotKnown):
            before = set()  # of a tag or a dataset that was not known then nothing was exposed
            before = look_for(then.snapshot, then.rules, then.counted, tag=tag, source=source).exposed(then.snapshot)
    with sources.open_views.look(as_of) as now:
        found = look_for(now.snapshot, now.rules, now.counted, tag=tag, source=source)
        return exposures(now.snapshot, found, tag=tag, page=page, but=before, only=exposure)


@question("unused")
def unused(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.AnyDataset = None,
    verdict: p.Verdict = None, strict: p.Strict = False, system: p.System = False, former: p.Former = False,
    page: ListPage, as_of: AsOf,
) -> column_answers.Unused:  # fmt: skip
    """Tell which columns may be dropped: used, unused, or unknown where no one can tell.

    A column is used if the newest execution of a job uses it, or an earlier one did within the window (`earlier`).
    """
    asked = Subject(namespace, dataset) if dataset else None
    with sources.open_views.look(as_of) as here:
        return verdicts(
            here.snapshot, here.rules, here.counted, asked=asked, page=page, only=verdict, strict=strict,
            hides=hides(here.rules, system), former=former,
            window=None if as_of.every or as_of.newest else as_of.window(here.snapshot),
        )  # fmt: skip


@question("coverage")
def coverage(
    sources: QuestionSources, *, kind: p.CoverageKind = None, system: p.System = False, page: ListPage, as_of: AsOf
) -> lineage_answers.Coverage:  # fmt: skip
    """List datasets and jobs without column lineage, and why."""
    with sources.open_views.look(as_of) as here:
        return coverage_of(here.snapshot, here.counted, page=page, kind=kind, hides=hides(here.rules, system))
