"""Events of a real Spark session give the same answers in a different order and batch by batch (promise P4)."""

import random
from pathlib import Path

import pytest

from headwater.cli.answer_source import DataFolder
from headwater.events.event_files import read_event_texts
from headwater.questions import definitions
from tests.support.paths import EVENTS
from tests.support.spark.four_doors import answers, fill

SESSION = EVENTS / "spark-3.5.7-listener-1.53.0.ndjson"
BATCHES = 3


@pytest.mark.slow
def test_no_answer_depends_on_the_order_in_which_the_index_heard_of_events(tmp_path: Path) -> None:
    events = [event.text for event in read_event_texts(SESSION) if event.text]
    fill(tmp_path / "at once", events)
    random.Random(3).shuffle(events)
    for first in range(BATCHES):
        fill(tmp_path / "shuffled", events[first::BATCHES])
        DataFolder(tmp_path / "shuffled").ask(definitions.coverage, {})  # brings its index up to date

    expected = answers(tmp_path / "at once")
    found = answers(tmp_path / "shuffled")

    assert len(expected) > 600
    assert [asked for asked in expected if found.get(asked) != expected[asked]] == []
