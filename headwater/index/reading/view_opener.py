"""Opens the lineage for a question: the current lineage, all lineage ever observed, or the lineage at a past time."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import NamedTuple, TypeVar

from headwater.common.errors import IndexUnreadable
from headwater.common.garbage_collection import gc_paused
from headwater.index.home import IndexHome, PublishedFile
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.rules_files import RulesFiles
from headwater.index.stored.database import open_for_reading
from headwater.index.stored.events import RunFactsTable
from headwater.index.stored.numbers import RunNumbers
from headwater.index.stored.progress import read_progress
from headwater.index.stored.schemas import SqliteFacetContents
from headwater.lineage.edges.output_lineage import EDGE_ORIGINS
from headwater.lineage.names.dataset_name import Name, Step
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.lineage.rules.applied_rules import apply_masking_rules
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.runs.run_facts import without_sql
from headwater.lineage.snapshots.as_of import AsOf, View
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.derived_snapshots import FactSnapshot
from headwater.lineage.snapshots.snapshot import Snapshot


class FairLock:
    """A lock that a waiting thread gets before the thread that has just released the lock.

    If long work releases the lock after each piece, other threads can work between two pieces.
    """

    def __init__(self) -> None:
        self._next, self._held = threading.Lock(), threading.Lock()

    def __enter__(self) -> None:
        with self._next:
            self._held.acquire()

    def __exit__(self, *_: object) -> None:
        self._held.release()

    def has_waiter(self) -> bool:
        """Return whether a thread is waiting for the lock."""
        return self._next.locked()


T = TypeVar("T")

_MAX_PAST = 2


class ActiveRules(NamedTuple):
    """The user's rules, and the problems in their files.

    is_indexed: the index that questions read was built with these name rules and the current code of the rules.
    """

    rules: UserRules
    problems: list[str]
    is_indexed: bool


class ViewOpener:
    """Opens lineage for questions. Keeps the current graph and the lineage at two past times in memory.

    One question about now and one question about the past can run at the same time. Deriving the lineage at a past time
    delays only other questions about the past.
    """

    def __init__(self, home: IndexHome, rules: RulesFiles):
        self._home = home
        self._rules_files = rules
        self._lock = FairLock()
        self._live: LiveGraph | None = None
        self._opened: tuple[PublishedFile, str] | None = None
        self._past_lock = threading.Lock()
        self._past_snapshots: OrderedDict[tuple[object, ...], FactSnapshot] = OrderedDict()

    def active_rules(self) -> ActiveRules:
        """Return the active rules and the problems in the user's files."""
        with self._lock:
            rules = self._rules_files.current_rules()
            return ActiveRules(
                rules, self._rules_files.problems, self._home.is_published_file(self._home.index_path(rules.names))
            )

    def close(self) -> None:
        """Close the index file."""
        with self._lock:
            if self._live is not None:
                self._live.close()
            self._live = self._opened = None

    @contextmanager
    def open_view(self, as_of: AsOf) -> Iterator[View]:
        """Open the view for a question. The view does not change while it is open.

        Raises LakeUnavailable if there is no index.
        """
        with gc_paused():
            if not as_of.is_derived:
                with self._opened_index() as (live, rules):
                    yield _make_view(live, rules, as_of)
            else:
                with self._past_lock:
                    snapshot, rules = self._past_snapshot(as_of)
                    yield _make_view(snapshot, rules, as_of)

    @contextmanager
    def open_view_and_index(self, as_of: AsOf) -> Iterator[tuple[View, LiveGraph]]:
        """Open the view for a question together with the current index, for questions that also read facets."""
        if not as_of.is_derived:
            with gc_paused(), self._opened_index() as (live, rules):
                yield _make_view(live, rules, as_of), live
        else:
            with self.open_view(as_of) as view, self._opened_index() as (live, _):
                yield view, live

    def query_current_index(self, question: Callable[[LiveGraph, UserRules], T]) -> T:
        """Call a function with the current index, for questions that need more than lineage."""
        with self._opened_index() as (live, rules):
            return question(live, rules)

    def resolution_steps(self, name: Name, at_us: int | None) -> list[Step]:
        """Return the steps from a canonical name to the dataset that it means at a time. at_us: us, or None for now."""
        with self._opened_index() as (live, _):
            naming = live.naming
            time_us = MAX_TIME_US if at_us is None else at_us
            bound = naming.location_at(name, time_us)
            found = naming.resolve(name, time_us).without_generation
            steps = [Step("binding", "the newest symlink facet up to this time", name, bound)] if bound != name else []
            return [*steps, Step("rename", "it was renamed later", bound, found)] if found != bound else steps

    @contextmanager
    def _opened_index(self) -> Iterator[tuple[LiveGraph, UserRules]]:
        """Open the current index for one question at a time. Damage is reported to the index's writer."""
        with self._lock:
            rules = self._rules_files.current_rules()
            try:
                live, published = self._live_graph(rules)
                with self._home.index_errors(published):
                    live.refresh()
                    yield live, rules
            except IndexUnreadable:
                self._close_graph()
                raise
            finally:
                if self._live is not None:
                    self._live.end_read()

    def _live_graph(self, rules: UserRules) -> tuple[LiveGraph, PublishedFile]:
        wanted = (
            self._home.published_file(),
            repr((rules.masking, rules.constants, rules.rewrites, rules.names.jobs.retired)),
        )
        if self._live is None or self._opened != wanted:
            self._close_graph()
            published, live = self._home.open_published(
                lambda path: LiveGraph(path, partial(apply_masking_rules, rules), rules)
            )
            self._live, self._opened = live, (published, wanted[1])
            return live, published
        return self._live, wanted[0]

    def _close_graph(self) -> None:
        if self._live is not None:
            self._live.close()
        self._live, self._opened = None, None

    def _past_snapshot(self, as_of: AsOf) -> tuple[FactSnapshot, UserRules]:
        """Derive the lineage at a past time, unless it is cached. This takes about 50 us per event."""
        with self._opened_index() as (live, rules):
            opened, held = self._opened, frozenset(read_progress(live.sql).items())
            removed_before_us = live.removed_before_us
        key = (opened, held, as_of.as_of_us, as_of.known_at_us, as_of.includes_inferred)
        found = self._past_snapshots.get(key)
        if found is None:
            published, sql = self._home.open_published(open_for_reading)
            with closing(sql), self._home.index_errors(published):
                facts = RunFactsTable(sql, RunNumbers(sql)).facts_until(
                    MAX_TIME_US if as_of.as_of_us is None else as_of.as_of_us,
                    MAX_TIME_US if as_of.known_at_us is None else as_of.known_at_us,
                )
                facts = facts if as_of.includes_inferred else without_sql(facts)
                found = self._past_snapshots[key] = FactSnapshot(
                    facts, SqliteFacetContents(sql), partial(apply_masking_rules, rules), rules, until_us=as_of.as_of_us
                )
                found.removed_before_us = removed_before_us
            while len(self._past_snapshots) > _MAX_PAST:
                self._past_snapshots.popitem(last=False)
        self._past_snapshots.move_to_end(key)
        return found, rules


def _make_view(snapshot: Snapshot, rules: UserRules, as_of: AsOf) -> View:
    counted = _counted_edges(snapshot, as_of)
    if as_of.seen_since_us is not None:
        counted = counted.without_edge_sets(snapshot.edge_sets_older_than(as_of.seen_since_us))
    if as_of.origins != EDGE_ORIGINS:
        counted = counted.without_edge_sets(as_of.excluded_edge_sets(snapshot))
    return View(snapshot, counted, rules)


def _counted_edges(snapshot: Snapshot, as_of: AsOf) -> CountedEdges:
    if as_of.includes_outdated:
        return snapshot.counted_edges().with_all_edge_sets()
    window = as_of.window(snapshot)
    return (
        snapshot.counted_edges_without_presumed(window)
        if as_of.only_newest
        else snapshot.counted_edges_with_earlier(window)
    )
