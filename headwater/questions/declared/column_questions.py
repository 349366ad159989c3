"""Questions about columns: exposure, use and coverage."""

from contextlib import suppress

from headwater.common.errors import NotKnown
from headwater.common.paging import ListPage
from headwater.lineage.time.as_of import AsOf
from headwater.questions import parameters as p
from headwater.questions.answers import column_answers, lineage_answers
from headwater.questions.coverage import coverage as coverage_of
from headwater.questions.declared.question_sources import QuestionSources, hides
from headwater.questions.declaring import question
from headwater.questions.exposure import Place, exposures, find_surface
from headwater.questions.subjects import Subject
from headwater.questions.verdicts import verdicts


@question("surface")
def surface(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.AnyDataset = None, column: p.Column = None,
    tag: p.Tag = "pii", since: p.Since = None, exposure: p.Exposure = None, page: ListPage, as_of: AsOf,
) -> column_answers.Surface:  # fmt: skip
    """List where tagged columns, or one column, end up: exposed, masked, or unknown.

    The tagged columns come first (`tagged`): one is exposed unless every write of it masks.
    Masked code is not masked data: `exposed_until` is the last time at which a column was written without a mask, and
    `once_exposed` columns contain unmasked rows of earlier writes only.
    With `since`, the answer contains only columns that were not exposed then and are exposed now.
    """
    source = Subject(namespace, dataset, column) if dataset else None
    before: set[Place] | None = None
    if since is not None:
        with sources.open_views.look(as_of._replace(as_of_us=since)) as then, suppress(NotKnown):
            before = set()  # a tag or dataset that was unknown then exposed no columns
            before = find_surface(then.snapshot, then.rules, then.counted, tag=tag, source=source).exposed(
                then.snapshot
            )
    with sources.open_views.look(as_of) as now:
        found = find_surface(now.snapshot, now.rules, now.counted, tag=tag, source=source)
        return exposures(now.snapshot, found, tag=tag, page=page, exposed_before=before, only=exposure)


@question("unused")
def unused(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.AnyDataset = None,
    verdict: p.Verdict = None, strict: p.Strict = False, system: p.System = False, former: p.Former = False,
    page: ListPage, as_of: AsOf,
) -> column_answers.Unused:  # fmt: skip
    """List which columns can be dropped: used, unused, or unknown if use cannot be excluded.

    A column is used if the newest execution of a job uses it, or an earlier one did within the window (`earlier`).
    """
    asked = Subject(namespace, dataset) if dataset else None
    with sources.open_views.look(as_of) as view:
        return verdicts(
            view.snapshot, view.rules, view.counted, asked=asked, page=page, only=verdict, strict=strict,
            hides=hides(view.rules, system), former=former,
            window=None if as_of.every or as_of.newest else as_of.window(view.snapshot),
        )  # fmt: skip


@question("coverage")
def coverage(
    sources: QuestionSources, *, kind: p.CoverageKind = None, system: p.System = False, page: ListPage, as_of: AsOf
) -> lineage_answers.Coverage:  # fmt: skip
    """List datasets and jobs without column lineage, and why."""
    with sources.open_views.look(as_of) as view:
        return coverage_of(view.snapshot, view.counted, page=page, kind=kind, hides=hides(view.rules, system))
