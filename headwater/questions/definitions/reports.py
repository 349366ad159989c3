"""Questions about which executions reported lineage."""

import time

from headwater.lake.reported_events import ReceiptWindow
from headwater.questions import parameters as p
from headwater.questions.answer_types import reports as report_answers
from headwater.questions.declaring import question
from headwater.questions.definitions.sources import QuestionSources
from headwater.questions.parameter_groups import NewestPage
from headwater.questions.reported_runs import reported_runs
from headwater.questions.unreported import saved_findings


@question("reported", called=None, reads_lake=True)
def reported(
    sources: QuestionSources, *, from_: p.From, to: p.To = None, after: p.After = None, limit: p.Limit = 1_000
) -> report_answers.ReportedRuns:  # fmt: skip
    """List the runs with events in a period, and the events that transports lost."""
    window = ReceiptWindow(from_, time.time_ns() // 1000 if to is None else to)
    return reported_runs(sources.bronze, sources.rules().rules.names, window, after, limit)


@question("unreported", reads_lake=True)
def unreported(
    sources: QuestionSources, *, kind: p.FindingKindAsked = None, page: NewestPage
) -> report_answers.Unreported:  # fmt: skip
    """List executions and writes without lineage, as found by the last `headwater reconcile --save`."""
    return saved_findings(sources.bronze, page, only=kind)
