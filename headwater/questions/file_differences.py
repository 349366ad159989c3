"""What changed between two runs of one pipeline, each a file of its events."""

from functools import partial
from hashlib import sha256
from pathlib import Path

from headwater.errors import InvalidEvent, WrongQuestion
from headwater.events.event_files import read_event_texts
from headwater.lineage.contents import ContentsInMemory
from headwater.lineage.generations import EVER_US
from headwater.lineage.masking import remasked
from headwater.lineage.reading import PartReader
from headwater.lineage.snapshot_of_parts import SnapshotOfParts
from headwater.lineage.user_rules import UserRules
from headwater.questions.answers.lineage import Diff
from headwater.questions.differences import difference


def difference_of_files(rules: UserRules, before: Path, after: Path, *, limit: int) -> Diff:
    """Answer what changed; raises WrongQuestion naming the line that is no event."""
    old, new = (_moment_of(rules, path) for path in (before, after))
    return difference((old, old.view()), (new, new.view()), limit=limit)


def _moment_of(rules: UserRules, path: Path) -> SnapshotOfParts:
    contents = ContentsInMemory()
    reader = PartReader(rules.names.canonical, contents)
    parts = []
    for event in read_event_texts(path):
        if event.text is None:
            raise WrongQuestion(f"{path}, line {event.line} is too long to be an event.")
        try:
            text = event.text.decode("utf-8", "replace")
            parts.append(reader.read(sha256(event.text).hexdigest()[:32], EVER_US, text))
        except InvalidEvent as error:
            raise WrongQuestion(f"{path}, line {event.line} is no event: {error}") from error
    return SnapshotOfParts(parts, contents, partial(remasked, rules))
