"""Compare the index with the brute-force reference: events arrive in pieces, the writer restarts, now and
in the past.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, to_builtins

from headwater.common.errors import NotKnown
from headwater.common.paging import ListPage
from headwater.events.position import Source
from headwater.events.times import iso_time
from headwater.governance.planning.findings import plan_findings
from headwater.governance.planning.schema import PlannedChange, PresentTable, PresentTables
from headwater.index.home import IndexHome
from headwater.index.reading.dataset_readers import columns_unlisted_by_readers
from headwater.index.reading.jobs import original_names
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.view_opener import ViewOpener
from headwater.index.rules_files import RulesFiles
from headwater.index.writing.indexer import Indexer
from headwater.lake.bronze_follower import BronzeEvent
from headwater.lineage.edges.unlisted_columns import UnlistedColumn
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.snapshots.as_of import AsOf, View
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.snapshot import Snapshot, Window
from headwater.lineage.snapshots.whole_rewrites import WINDOW_US
from headwater.lineage.traversal.impact import Mode
from headwater.operations.runtime.index import open_rules
from headwater.operations.settings import Settings
from headwater.questions.answer_types.common import FormerLocation
from headwater.questions.answer_types.lists import Datasets
from headwater.questions.contract_facts import ContractReader
from headwater.questions.lists import ListFilter, datasets
from headwater.questions.reach import reach_answer
from headwater.questions.subjects import Bounds, Subject
from headwater.questions.surface import find_surface, surface_answer
from headwater.questions.unused import verdicts_answer
from tests.reference import questions
from tests.reference.nesting import ColumnEdge
from tests.reference.records import Delivered
from tests.reference.retired import with_deletions
from tests.reference.solver import Column, Reference
from tests.reference.world_events import (
    RECEIPT_US,
    START_US,
    Json,
    at,
    column_lineage,
    dataset_event,
    deliver,
    facet,
    source,
    step,
    symlinks,
    uuid,
)
from tests.reference.worlds import random_world, worlds
from tests.rule_cases.events import LAKE, begun, change, done, entry, table, tagging, writes
from tests.rule_cases.rewriting import committed
from tests.support.data.lineage_world import LineageWorld

SECOND = 1_000_000
MODES: tuple[Mode, ...] = ("value", "any")
FAR = Bounds(depth=1000, limit=10_000)
WHOLE = ListPage(limit=10_000)
SOURCE = Source("local", "1", "0")
RULES = default_rules()


@pytest.mark.slow
@settings(derandomize=True, deadline=None, database=None, max_examples=30)  # `bench.worlds` runs 2,000 examples
@given(worlds(), st.integers(0, 2**32), st.integers(0, 40), st.integers(0, 16))
def test_the_index_answers_like_the_reference(events: list[Delivered], seed: int, as_of_s: int, known_s: int) -> None:
    with indexed(events, Random(seed)) as open_views:
        compare(open_views, events, AsOf(only_newest=True))
        compare(open_views, events, AsOf(window_us=(seed % 20) * SECOND))
        if seed % 4 == 0:  # `test_lineage_reference.py` looks into the past of every world
            compare(open_views, events, AsOf(as_of_us=START_US + as_of_s * SECOND))
            compare(open_views, events, AsOf(known_at_us=RECEIPT_US + known_s * SECOND))


@pytest.mark.parametrize("seed", [139, 1758, 2018])
def test_worlds_of_which_the_index_once_knew_otherwise(seed: int) -> None:
    world = random_world(seed)
    with indexed(world, Random(seed)) as open_views:
        compare(open_views, world, AsOf())


@pytest.mark.parametrize("seed", [1, 5, 9])
def test_the_index_answers_like_the_rules_where_jobs_were_deleted(seed: int) -> None:
    world = with_deletions(random_world(seed), seed)
    with indexed(world, Random(seed)) as open_views:
        compare(open_views, world, AsOf())
        compare(open_views, world, AsOf(as_of_us=START_US + 20 * SECOND))


def test_a_question_about_the_past_holds_up_none_about_now() -> None:
    world = random_world(1)
    with (
        indexed(world, Random(1)) as open_views,
        ThreadPoolExecutor(1) as others,
        open_views.open_view(AsOf(as_of_us=START_US + SECOND)),
    ):
        others.submit(compare, open_views, world, AsOf()).result(timeout=60)


@pytest.mark.parametrize(
    ("change", "rule", "is_clear"),
    [
        ("", "", True),
        ("", "job: etl, writes: whole", False),
        ("", "job: other, writes: whole", True),
        ("", "dataset: b, writes: whole", False),
        ("", "producer: 'https://*', dataset: b, writes: whole", False),
        ("", "producer: 'http:*', dataset: b, writes: whole", True),
        ("OVERWRITE", "", False),
        ("OVERWRITE", "job: e*, writes: part", True),
        ("OVERWRITE", "dataset: b, writes: append", True),
        ("OVERWRITE", "dataset: b, keeps: 90d", False),
        ("OVERWRITE", f"run: {uuid(2)}, writes: append", True),
        ("OVERWRITE", f"run: {uuid(1)}, writes: append", False),
        ("", f"run: {uuid(2)}, dataset: b, writes: whole", False),
    ],
)
def test_declared_writes_outweigh_what_events_say(change: str, rule: str, is_clear: bool) -> None:
    assert clear_rows_stay(change, rule) == {is_clear}


@pytest.mark.parametrize(
    ("change", "rule", "proves", "is_clear"),
    [
        ("OVERWRITE", "dataset: b, writes: whole", "nothing", False),
        ("", "dataset: b, writes: append", "whole", True),
        ("OVERWRITE", f"run: {uuid(1)}, writes: append", "nothing", True),
        ("", "dataset: b, keeps: 90d", "whole", False),
    ],
)
def test_what_users_declare_outweighs_what_commits_prove(change: str, rule: str, proves: str, is_clear: bool) -> None:
    assert clear_rows_stay(change, rule, committed(2, f"2 {proves} b")) == {is_clear}


def clear_rows_stay(change: str, rule: str, *more: Json) -> set[bool]:
    """Return whether rows of a clear write remain after a masked one with a lifecycle change, now and at an earlier
    time.
    """
    clear = done(1, 1, writes("b", {"x": "a.x"}), of=[table("a", "x")], job="etl")
    masked = done(2, 2, writes("b", {"x": "a.x#"}, says=change), of=[table("a", "x")], job="etl")
    world = deliver([clear, masked, tagging(3, "a.x"), *more])
    found = set()
    with indexed(world, Random(1), f"version: 1\nrewrites: [{{{rule}}}]" if rule else "") as open_views:
        for moment in (AsOf(), AsOf(as_of_us=START_US + 100 * SECOND)):
            with open_views.open_view(moment) as here:
                found.add(bool(exposed(here, tagged=False)[1]))
    return found


def test_a_contract_tells_which_tags_a_dataset_may_hold_that_a_job_feeds() -> None:
    fed = {
        "lineage": facet(entries=[entry("b", {}) | {"inputs": [{"type": "JOB", "namespace": "j", "name": "other"}]}])
    }
    events = [done(1, 1, table("b", "x"), run_facets=fed), done(2, 2, table("a", "x")), tagging(3, "a.x")]
    with indexed(deliver(events), Random(1)) as open_views, open_views.open_view_and_index(AsOf()) as (here, live):
        facts = ContractReader(here, live, None, START_US).read_facts(Subject(None, "b"))
    assert [(tag.tag, tag.exposure) for column in facts.columns for tag in column.exposures] == [("pii", "unknown")]


@pytest.mark.parametrize(("keeps", "is_clear"), [("2h", True), ("1h", False)])
def test_the_index_leaves_out_rows_that_a_dataset_no_longer_keeps(keeps: str, is_clear: bool) -> None:
    clear = done(1, 1, writes("b", {"x": "a.x"}), of=[table("a", "x")], job="etl")
    masked = done(2, 7200, writes("b", {"x": "a.x#"}), of=[table("a", "x")], job="etl")
    world = deliver([clear, masked, tagging(3, "a.x")])
    with indexed(world, Random(1), f"version: 1\nrewrites: [{{dataset: b, keeps: {keeps}}}]") as open_views:
        for moment in (AsOf(), AsOf(as_of_us=START_US + 7200 * SECOND)):
            with open_views.open_view(moment) as here:
                assert bool(exposed(here, tagged=False)[1]) is is_clear


@pytest.mark.parametrize("seed", range(6))
def test_columns_that_readers_no_longer_list_are_those_of_the_reference(seed: int) -> None:
    chance, dataset = Random(seed), Name("s3://lake", "v")
    events = []
    for number in range(1, 15):
        columns = " ".join(column for column in "abcd" if chance.random() < 0.6)
        if chance.random() < 0.2:
            events.append(dataset_event(at(number), table("v", columns or "a")))
        else:
            job = chance.choice(["one", "two", "three"])
            read = [table("v", columns or "a")]
            events.append(done(number, number, writes("w", {"a": "v.a"}), of=read, job=job))
    world = deliver(events)
    with indexed(world, chance) as open_views:
        for until_us in (START_US + end * SECOND for end in (5, 9, 15)):
            found = open_views.query_current_index(partial(_unlisted, dataset, until_us))
            wanted = questions.not_listed(Reference(world, as_of_us=until_us), (*dataset.parts, ""), WINDOW_US)
            assert {each.column: (each.last_mention.time_us, each.unlisted_since.time_us) for each in found} == wanted


def test_a_column_of_a_table_that_only_readers_name_is_marked() -> None:
    overwritten = done(1, 1, table("t", "x y", **change("OVERWRITE")), job="app.overwrite_by_expression.t")
    read = done(2, 2, writes("u", {"x": "t.x", "edge": "t.edge"}), of=[table("t", "x ghost")], job="read")
    appended = done(3, 3, table("t", "x added"), job="append")
    only_read = done(4, 4, writes("w", {"x": "v.x"}), of=[table("v", "x ghost")], job="read v")
    with indexed(deliver([overwritten, read, appended, only_read]), Random(1)) as open_views:
        for moment in (AsOf(), AsOf(as_of_us=START_US + 9 * SECOND)):
            with open_views.open_view(moment) as here:
                found = verdicts_answer(here.snapshot, here.rules, here.counted_edges, asked=None, page=WHOLE).items
            assert {each.column for each in found if each.readers_only} == {"ghost", "edge"}
            assert {each.dataset for each in found if each.readers_only} == {"t"}


def test_a_former_location_is_named_where_it_is_shown_and_left_out_of_lists() -> None:
    old, new = (
        done(number, number, writes(name, {"x": "a.x"}, symlinks=symlinks(("hive://meta", "db.t"))), of="a", job="load")
        for number, name in enumerate(("old", "new"), 1)
    )
    former = FormerLocation("hive://meta", "db.t", at(2))
    with indexed(deliver([old, new, tagging(3, "a.x")]), Random(1)) as open_views:
        with open_views.open_view(AsOf()) as here:
            found = find_surface(here.snapshot, here.rules, here.counted_edges, tag="pii", source=None)
            shown = surface_answer(here.snapshot, found, tag="pii", page=WHOLE).items
            assert {each.dataset: each.former for each in shown if not each.tagged} == {"old": former, "new": UNSET}
            asked = (here.snapshot, here.rules, here.counted_edges)
            listed = verdicts_answer(*asked, asked=None, page=WHOLE)
            assert ({each.dataset for each in listed.readers}, listed.former_hidden) == ({"a", "new"}, 1)
            every = verdicts_answer(*asked, asked=None, page=WHOLE, former=True)
            assert {each.dataset: each.former for each in every.readers} == {"a": UNSET, "new": UNSET, "old": former}
        for with_former, names in ((False, ["a", "new"]), (True, ["a", "new", "old"])):
            answer = open_views.query_current_index(partial(_datasets, with_former))
            assert [each.name for each in answer.items] == names
            assert answer.former_hidden == 3 - len(names)


def test_a_step_from_a_name_that_the_sql_explains_is_marked_as_doubtful() -> None:
    query = "WITH users AS (SELECT mail FROM raw) SELECT mail, mail AS copy FROM users"
    told = {"mail": "users.mail", "copy": "raw.mail"}
    sql = {"sql": facet(query=query, dialect="spark")}
    written = done(1, 1, writes("b", told), of=[table("raw", "mail id")], job_facets=sql)
    with indexed(deliver([written]), Random(1)) as open_views:
        for moment in (AsOf(), AsOf(as_of_us=START_US + 9 * SECOND)):
            with open_views.open_view(moment) as here:
                found = reach_answer(
                    here.snapshot,
                    RULES,
                    Subject(None, "b"),
                    here.counted_edges,
                    forward=False,
                    mode="value",
                    bounds=FAR,
                )
            assert {(each.dataset, each.via.doubtful) for each in found.columns} == {("users", True), ("raw", UNSET)}


@pytest.mark.parametrize(("days", "verdict"), [(None, "used"), (0, "unused"), (1, "unused"), (3, "used")])
def test_questions_without_a_window_have_that_of_the_settings(days: int | None, verdict: str) -> None:
    first = done(1, -2 * 86_400, writes("t", {"x": "a.x"}), of=[table("a", "x")], job="load")
    second = done(2, 0, writes("t", {"x": "b.x"}), of=[table("b", "x")], job="load")
    settings = Settings.model_validate({"window_days": days})
    window_us = open_rules(settings).current_rules().window_us
    assert window_us == (None if days is None else days * 86_400 * SECOND)
    with indexed(deliver([first, second]), Random(1), window_us=window_us) as open_views:
        for as_of_us in (None, START_US):
            for asked_us, expected in ((None, verdict), (5 * 86_400 * SECOND, "used"), (SECOND, "unused")):
                with open_views.open_view(AsOf(as_of_us=as_of_us, window_us=asked_us)) as here:
                    found = verdicts_answer(
                        here.snapshot, here.rules, here.counted_edges, asked=Subject(None, "a"), page=WHOLE
                    )
                assert [each.verdict for each in found.items] == [expected]


def test_a_job_keeps_its_original_names_when_a_run_is_read_again() -> None:
    events = [
        told(1, second, writes("t", {"x": "a.x"}), of=[table("a", "x")], job="load_2026-11-19")
        for told, second in ((begun, 1), (done, 2), (done, 3))
    ]
    with indexed(deliver(events), Random(1), most_at_once=1) as open_views:
        found = open_views.query_current_index(lambda live, _: original_names(live, Name("jobs", "load")))
    assert found == ["load_2026-11-19"]


UNKNOWN_BROKER = ("kafka://null:-1", "orders")
MAIL = {"Mail": "a.x", "n": "a.y"}


@pytest.mark.parametrize("reader", ["prod", "test"])
def test_topics_of_unknown_brokers_are_one_for_the_jobs_of_a_namespace_alone(reader: str) -> None:
    written = done(1, 1, writes(UNKNOWN_BROKER, MAIL), of=[table("a", "x y")], job="to_topic")
    lineage = column_lineage({"mail": [source(UNKNOWN_BROKER, "Mail", step("DIRECT"))]})
    read = done(
        2, 2, table("out", "mail", columnLineage=lineage), of=[table(UNKNOWN_BROKER, "Mail n")], job="from_topic"
    )
    written["job"]["namespace"], read["job"]["namespace"] = "prod", reader
    is_one = reader == "prod"
    with indexed(deliver([written, read]), Random(1)) as open_views:
        for as_of in (AsOf(), AsOf(as_of_us=START_US + 9 * SECOND)):
            with open_views.open_view(as_of) as here:
                found, came = (
                    reach_answer(here.snapshot, RULES, Subject(None, name, column), here.counted_edges, forward=forward,
                          mode="value", bounds=FAR)
                    for name, column, forward in (("a", "x", True), ("out", "mail", False))
                )  # fmt: skip
                topic = Subject(f"{UNKNOWN_BROKER[0]}/{reader}", "orders")
                judged = verdicts_answer(here.snapshot, here.rules, here.counted_edges, asked=topic, page=WHOLE).items
            assert [each.dataset for each in found.columns] == (["orders", "out"] if is_one else ["orders"])
            assert found.columns[0].namespace == "kafka://null:-1/prod"
            assert came.columns[0].namespace == f"kafka://null:-1/{reader}"
            assert [each.dataset for each in came.columns] == (["orders", "a"] if is_one else ["orders"])
            assert {each.column: each.verdict for each in judged} == {"Mail": "used", "n": "unused"}
        listed = open_views.query_current_index(partial(_datasets, False))
    assert {each.namespace for each in listed.items if each.name == "orders"} == {
        f"kafka://null:-1/{each}" for each in ("prod", reader)
    }


OLD = table("a", "x y")
NIGHTLY = [done(each, each, writes("t", {"x": "a.x"}), of=[OLD], job="load") for each in (1, 11, 31)]
OTHER = done(40, 40, writes("u", {"y": "a.y", "z": "a.x"}), of=[OLD], job="beside")
REPLACED = done(50, 50, writes("t", {"x": "b.x"}, says="OVERWRITE"), of=[table("b", "x")], job="anew")


@pytest.mark.parametrize(
    ("more", "at_s", "presumed"),
    [
        ([REPLACED], 72, {"load"}),
        ([REPLACED], 71, set()),  # the limit is twice the longest interval of 20 s
        ([], 72, set()),
        ([done(50, 50, writes("t", {"x": "b.x"}), of=[table("b", "x")], job="anew")], 72, set()),
        ([REPLACED, begun(60, 60, job="load")], 72, set()),
        ([REPLACED, done(32, 32, writes("v", {"x": "a.x"}), of=[OLD], job="load")], 90, set()),
        ([REPLACED, done(32, 32, of=[OLD], job="load")], 90, set()),
    ],
    ids=["replaced", "too early", "alone", "appended", "begun again", "writes more", "reads only, too"],
)
def test_a_job_whose_output_another_job_rewrites_is_presumed_retired(
    more: list[Json], at_s: int, presumed: set[str]
) -> None:
    last = done(70, at_s, of=[table("c", "x")], job="later")
    with indexed(deliver([*NIGHTLY, OTHER, *more, last]), Random(1)) as open_views:
        for as_of_us in (None, START_US + at_s * SECOND):
            with open_views.open_view(AsOf(as_of_us=as_of_us, window_us=30 * SECOND)) as here:
                assert {name.name for name in jobs_of(here.snapshot, here.counted_edges)} == presumed
            for without in (AsOf(as_of_us=as_of_us), AsOf(as_of_us=as_of_us, window_us=0)):
                with open_views.open_view(without) as here:
                    assert jobs_of(here.snapshot, here.counted_edges) == set()


def test_what_only_jobs_presumed_retired_say_comes_last_with_a_mark() -> None:
    last = done(70, 90, of=[table("c", "x")], job="later")
    with indexed(deliver([*NIGHTLY, OTHER, REPLACED, last]), Random(1)) as open_views:
        with open_views.open_view(AsOf(window_us=30 * SECOND)) as here:
            everything, first = (
                reach_answer(
                    here.snapshot,
                    RULES,
                    Subject(None, "a", "x"),
                    here.counted_edges,
                    forward=True,
                    mode="value",
                    bounds=b,
                )
                for b in (FAR, Bounds(depth=1000, limit=1))
            )
            found = verdicts_answer(here.snapshot, here.rules, here.counted_edges, asked=Subject(None, "a"), page=WHOLE)
        answers = {"impact": to_builtins(everything), "unused": to_builtins(found)}
        with open_views.open_view(AsOf(window_us=30 * SECOND, only_newest=True)) as here:
            newest = verdicts_answer(
                here.snapshot, here.rules, here.counted_edges, asked=Subject(None, "a"), page=WHOLE
            )
    reached = [(each.dataset, each.presumed_retired, each.via.presumed_retired) for each in everything.columns]
    assert reached == [("u", UNSET, UNSET), ("t", True, True)]
    assert [each.dataset for each in first.columns] == ["u"]
    assert first.truncated
    readers = found.readers[0]
    assert [job.name for job in readers.jobs] == ["beside", "load"]
    assert readers.presumed_retired is not UNSET
    assert [job.name for job in readers.presumed_retired] == ["load"]
    told = {each.column: ([job.name for job in each.read_by], each.presumed_retired) for each in found.items}
    assert told == {"x": (["beside", "load"], UNSET), "y": (["beside"], UNSET)}
    assert [job.name for job in newest.readers[0].jobs] == ["beside"]
    dropped = PlannedChange("drop_column", "a", PresentTable(LAKE, "a", {}), "x")
    tables = PresentTables(lambda question, _: answers[question], None)
    (planned,) = plan_findings([dropped], tables, lambda question, _: answers[question], [], None)
    assert (planned.outcome, planned.jobs) == ("breaks", ["jobs/beside", "jobs/load"])
    assert (planned.presumed_retired, planned.note) == (["jobs/load"], "Presumed retired: jobs/load.")


@pytest.mark.parametrize(
    ("change_or_keeps", "shown"),
    [("", {"old", "new"}), ("TRUNCATE", {"new"}), ("ALTER", {"old", "new"}), ("1h", {"new"}), ("4h", {"old", "new"})],
)
def test_a_former_location_without_rows_is_not_on_the_surface(change_or_keeps: str, shown: set[str]) -> None:
    """The last write of the former location is two hours older than the newest event."""
    links = symlinks(("hive://meta", "db.t"))
    old, new = (
        done(number, second, writes(name, {"x": "a.x"}, symlinks=links), of="a", job="load")
        for number, second, name in ((1, 0, "old"), (2, 7200, "new"))
    )
    after = "" if change_or_keeps.endswith("h") else change_or_keeps
    more = [done(3, 100, table("old", "x", **change(after)), job="app.after.old")] if after else []
    keeps = f"version: 1\nrewrites: [{{dataset: old, keeps: {change_or_keeps}}}]" if not after else ""
    rules = keeps if change_or_keeps else ""
    with indexed(deliver([old, *more, new, tagging(3, "a.x")]), Random(1), rules) as open_views:
        for moment in (AsOf(), AsOf(as_of_us=START_US + 7200 * SECOND)):
            with open_views.open_view(moment) as here:
                found = find_surface(here.snapshot, here.rules, here.counted_edges, tag="pii", source=None)
                answer = surface_answer(here.snapshot, found, tag="pii", page=WHOLE)
            assert {each.dataset for each in answer.items if not each.tagged} == shown


def _datasets(former: bool, live: LiveGraph, rules: UserRules) -> Datasets:
    return datasets(live, rules, ListFilter(*[None] * 6), WHOLE, 0, system=False, former=former)


def _unlisted(dataset: Name, until_us: int, live: LiveGraph, _: UserRules) -> list[UnlistedColumn]:
    return columns_unlisted_by_readers(live, dataset, until_us)


@contextmanager
def indexed(
    events: list[Delivered],
    chance: Random,
    rewrites: str = "",
    window_us: int | None = None,
    most_at_once: int = 4,
) -> Iterator[ViewOpener]:
    """Provide an index that received events in small batches, with an open reader and occasional restarts of the
    writer.

    rewrites: the text of `rewrites.yaml`. window_us: default window of questions. most_at_once: maximum batch size.
    """
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        (Path(folder) / "rewrites.yaml").write_text(rewrites)
        home = IndexHome(Path(folder))
        home.publish(home.index_path(RULES))
        open_views = ViewOpener(home, RulesFiles(Path(folder), window_us))
        indexer = Indexer(home.index_path(RULES), RULES)
        at = 0
        while at < len(events):
            size = chance.randint(1, most_at_once)
            numbered = dict(enumerate(events[at : at + size], at + 1))
            batch = [BronzeEvent(each.event_id, each.received_us, number, None) for number, each in numbered.items()]
            bodies = {number: json.dumps(each.event) for number, each in numbered.items()}
            indexer.process_events(SOURCE, at + size, batch, partial(asked_of, bodies))
            at += size
            if chance.random() < 0.3:
                with open_views.open_view(AsOf()):
                    pass
            if chance.random() < 0.2:
                indexer.close()
                indexer = Indexer(home.index_path(RULES), RULES)
        indexer.close()
        yield open_views
        open_views.close()


def asked_of(bodies: Mapping[int, str], sequences: Iterable[int]) -> dict[int, str]:
    return {sequence: bodies[sequence] for sequence in sequences}


def compare(open_views: ViewOpener, events: list[Delivered], as_of: AsOf) -> None:
    """Compare all answers at a time with those of the rules in memory, which other tests compare with the reference."""
    asked_us = Window().length_us if as_of.window_us is None else as_of.window_us
    window_us = None if as_of.only_newest else asked_us
    there = LineageWorld(events, as_of_us=as_of.as_of_us, known_at_us=as_of.known_at_us, window_us=window_us)
    with open_views.open_view(as_of) as here:
        assert known(here.snapshot) == known(there.scene)
        assert column_edges(here) == there.column_edges
        assert jobs_of(here.snapshot, here.counted_edges) == jobs_of(there.scene, there.counted)
        for column in {end for edge in there.column_edges for end in ((*edge[:2], edge[3]), (*edge[4:6], edge[7]))}:
            for mode in MODES:
                assert reached(here, column, mode, forward=True) == there.reached(column, mode, forward=True)
                assert reached(here, column, mode, forward=False) == there.reached(column, mode, forward=False)
                for forward in (True, False):
                    earlier = reached_earlier(here, column, mode, forward=forward)
                    assert earlier == there.reached_earlier(column, mode, forward=forward)
        for tagged, (surface, until) in enumerate((there.behind_tag("pii"), there.tagged_themselves("pii"))):
            wanted_until = {column: iso_time(time_us) for column, time_us in until.items()}
            assert exposed(here, tagged=bool(tagged)) == (surface, wanted_until)
        for strict in (False, True):
            found = verdicts_answer(
                here.snapshot, here.rules, here.counted_edges, asked=None, page=WHOLE, strict=strict
            ).items
            names = {Name(item.namespace, item.dataset) for item in found}
            wanted = {key: verdict for name in names for key, verdict in there.verdicts(name, strict=strict).items()}
            assert {key_of(here, item): item.verdict for item in found} == wanted


def jobs_of(snapshot: Snapshot, counted: CountedEdges) -> set[Name]:
    """Return the jobs that are presumed retired."""
    return {snapshot.graph.edge_sets[number][0].job for number in counted.presumed_retired}


def known(snapshot: Snapshot) -> tuple[object, object]:
    """Return what is known about every dataset, and the resolution of names."""
    found = {}
    for name in snapshot.datasets():
        shows, stands, was_read = (
            snapshot.shown_columns(name).names,
            snapshot.exists(name),
            snapshot.was_read_to_write(name),
        )
        found[name] = shows, stands, was_read, sorted(snapshot.current_tags().get(name, ()), key=repr)
    return found, snapshot.aliases()


def column_edges(here: View) -> set[ColumnEdge]:
    graph, counted = here.snapshot.graph, here.counted_edges
    lineage = [words for number, (_, words) in graph.edge_sets.items() if counted.live_mask[number]]
    return {
        (
            *edge.source,
            edge.column,
            *words.output,
            target,
            "DIRECT" if edge.transformation.is_direct else "INDIRECT",
            edge.transformation.is_masked,
        )
        for words in lineage
        for edge in words.edges
        for target in (words.dataset_wide_targets if edge.target is None else (edge.target,))
        if words.output is not None
    }


def reached(here: View, asked: Column, mode: Mode, *, forward: bool) -> dict[Column, tuple[int, bool, bool]]:
    found = reach_answer(
        here.snapshot, RULES, Subject(*asked), here.counted_edges, forward=forward, mode=mode, bounds=FAR
    )  # fmt: skip
    assert not found.truncated
    return {key_of(here, item): (item.distance, item.masked, item.read_before_recreation) for item in found.columns}


def reached_earlier(here: View, asked: Column, mode: Mode, *, forward: bool) -> set[Column]:
    found = reach_answer(
        here.snapshot, RULES, Subject(*asked), here.counted_edges, forward=forward, mode=mode, bounds=FAR
    )
    assert all((item.last_seen is not None) == item.earlier for item in found.columns)
    return {key_of(here, item) for item in found.columns if item.earlier}


def exposed(here: View, *, tagged: bool) -> tuple[dict[Column, str], dict[Column, str]]:
    """Return exposures, and the last time of clear writes to masked columns, for tagged columns or for those
    downstream.
    """
    try:
        looked = find_surface(here.snapshot, here.rules, here.counted_edges, tag="pii", source=None)
        items = surface_answer(here.snapshot, looked, tag="pii", page=WHOLE).items
        found = [item for item in items if item.tagged is tagged]
    except NotKnown:
        return {}, {}
    until = {key_of(here, item): item.exposed_until for item in found if item.exposed_until}
    return {key_of(here, item): item.exposure for item in found}, until


def key_of(here: View, item: Any) -> Column:
    name, column = Name(item.namespace, item.dataset), item.column
    return (*name.parts, None if column is None else here.snapshot.shown_columns(name).key(column))
