"""The differences in lineage between two files of events."""

from functools import partial
from hashlib import sha256
from pathlib import Path

from headwater.common.errors import InvalidEvent, WrongQuestion
from headwater.common.paging import ListPage
from headwater.events.event_files import read_event_texts
from headwater.lineage.edges.facet_contents import FacetContentsInMemory
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.lineage.rules.applied_rules import apply_masking_rules
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.runs.event_reading import make_facts_reader
from headwater.lineage.snapshots.derived_snapshots import FactSnapshot
from headwater.questions.answer_types.lineage import Diff
from headwater.questions.differences import edge_differences


def difference_of_files(
    rules: UserRules, before: Path, after: Path, *, page: ListPage, only: str | None = None
) -> Diff:
    """Answer the differences in lineage between two files.

    only: list only `added`, `removed` or `changed` edges. Raises WrongQuestion, with the line, for an invalid event.
    """
    old, new = (_snapshot_of_file(rules, path) for path in (before, after))
    return edge_differences((old, old.counted_edges()), (new, new.counted_edges()), page=page, only=only)


def _snapshot_of_file(rules: UserRules, path: Path) -> FactSnapshot:
    contents = FacetContentsInMemory()
    reader = make_facts_reader(rules.names, contents)
    facts = []
    for event in read_event_texts(path):
        if event.text is None:
            raise WrongQuestion(f"{path}, line {event.line} is longer than an event may be. Remove the line.")
        try:
            text = event.text.decode("utf-8", "replace")
            facts.append(reader.read_event(sha256(event.text).hexdigest()[:32], MAX_TIME_US, text))
        except InvalidEvent as error:
            raise WrongQuestion(f"{path}, line {event.line} is not a valid event: {error}") from error
    return FactSnapshot(facts, contents, partial(apply_masking_rules, rules), rules)
