"""Opens the lineage that a question looks at: now, everything that ever was, or a moment of the past."""

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from headwater.collector import paused
from headwater.errors import LakeUnavailable
from headwater.index.contents import SqliteContents
from headwater.index.database import is_damage, open_for_reading
from headwater.index.home import IndexHome, Published
from headwater.index.live import LiveGraph
from headwater.index.part_table import PartTable
from headwater.index.progress import read_progress
from headwater.index.rules_files import RulesFiles
from headwater.index.run_numbers import RunNumbers
from headwater.lineage.generations import EVER_US
from headwater.lineage.lens import Lens, Sight
from headwater.lineage.masking import remasked
from headwater.lineage.name import Name, Step
from headwater.lineage.snapshot import Snapshot
from headwater.lineage.snapshot_of_parts import SnapshotOfParts
from headwater.lineage.user_rules import UserRules
from headwater.lineage.view import View

T = TypeVar("T")

_PAST_KEPT = 2
_FAULTS = (sqlite3.Error, msgspec.DecodeError)


class RulesInForce(NamedTuple):
    """The user's rules; indexed: the index that questions read was built by these rules for names and their code."""

    rules: UserRules
    problems: list[str]
    indexed: bool


class Lenses:
    """Opens lineage for questions; keeps the newest graph and two moments of the past in memory.

    One question about now and one about the past at a time: a moment that is worked out anew holds up only its like.
    """

    def __init__(self, home: IndexHome, rules: RulesFiles):
        """Open nothing yet."""
        self._home = home
        self._rules_files = rules
        self._lock = threading.Lock()
        self._live: LiveGraph | None = None
        self._opened: tuple[Published, str] | None = None
        self._past_lock = threading.Lock()
        self._past: OrderedDict[tuple[object, ...], SnapshotOfParts] = OrderedDict()

    def rules(self) -> RulesInForce:
        """Return the rules in force and what is wrong with the user's files."""
        with self._lock:
            rules = self._rules_files.current()
            return RulesInForce(
                rules, self._rules_files.problems, self._home.is_current(self._home.path_for(rules.names))
            )

    def close(self) -> None:
        """Close the index's file."""
        with self._lock:
            if self._live is not None:
                self._live.close()
            self._live = self._opened = None

    @contextmanager
    def look(self, lens: Lens) -> Iterator[Sight]:
        """Give what a question sees, and keep it as it is meanwhile; raises LakeUnavailable without an index."""
        with paused():
            if lens.as_of_us is None and lens.known_at_us is None and not lens.every:
                with self._opened_index() as (live, rules):
                    yield _sight(live, live.view(), rules, lens)
            else:
                with self._past_lock:
                    try:
                        past, rules = self._past_moment(lens)
                        yield _sight(past, past.view().everything() if lens.every else past.view(), rules, lens)
                    except _FAULTS as error:
                        self._past.clear()
                        raise self._unreadable(error, self._home.current().path) from error

    @contextmanager
    def catalog(self, lens: Lens) -> Iterator[tuple[Sight, LiveGraph]]:
        """Give what a question sees, and beside it the index, which alone knows how things describe themselves."""
        if lens.as_of_us is None and lens.known_at_us is None and not lens.every:
            with paused(), self._opened_index() as (live, rules):
                yield _sight(live, live.view(), rules, lens), live
        else:
            with self.look(lens) as sight, self._opened_index() as (live, _):
                yield sight, live

    def now(self, question: Callable[[LiveGraph, UserRules], T]) -> T:
        """Ask the index as it is now, of which a question may want more than lineage."""
        with self._opened_index() as (live, rules):
            return question(live, rules)

    def bindings(self, name: Name, at_us: int | None) -> list[Step]:
        """Return the steps from a canonical name to the dataset it means at a time, None: now."""
        with self._opened_index() as (live, _):
            naming = live.naming
            time_us = EVER_US if at_us is None else at_us
            bound = naming.bound(name, time_us)
            found = naming.resolve(name, time_us)
            steps = (
                [Step("binding", "a symlink facet says so, newest up to then", name, bound)] if bound != name else []
            )
            return [*steps, Step("rename", "it was renamed later", bound, found)] if found != bound else steps

    @contextmanager
    def _opened_index(self) -> Iterator[tuple[LiveGraph, UserRules]]:
        """Give the index as it is now, to one question at a time; a damaged one is reported to its writer."""
        with self._lock:
            rules = self._rules_files.current()
            try:
                yield self._live_graph(rules), rules
            except _FAULTS as error:
                path = self._opened[0].path if self._opened else self._home.current().path
                self._close()
                raise self._unreadable(error, path) from error
            finally:
                if self._live is not None:
                    self._live.rest()

    def _unreadable(self, error: Exception, path: Path) -> LakeUnavailable:
        if is_damage(error):
            self._home.report_damage(path)
        return LakeUnavailable(f"The index cannot be read ({error}). Ask again in a moment.")

    def _live_graph(self, rules: UserRules) -> LiveGraph:
        masking = repr(rules.masking)
        if self._live is not None and self._opened != (self._home.current(), masking):
            self._close()
        if self._live is None:
            published, live = self._home.opened(lambda path: LiveGraph(path, partial(remasked, rules)))
            self._live, self._opened = live, (published, masking)
        self._live.refresh()
        return self._live

    def _close(self) -> None:
        if self._live is not None:
            self._live.close()
        self._live, self._opened = None, None

    def _past_moment(self, lens: Lens) -> tuple[SnapshotOfParts, UserRules]:
        """Derive the past anew from the parts that count then: costs about 50 us for each event before it."""
        with self._opened_index() as (live, rules):
            opened, held = self._opened, frozenset(read_progress(live.sql).items())
        key = (opened, held, lens.as_of_us, lens.known_at_us, lens.every)
        found = self._past.get(key)
        if found is None:
            _, sql = self._home.opened(open_for_reading)
            parts = PartTable(sql, RunNumbers(sql)).until(
                EVER_US if lens.as_of_us is None else lens.as_of_us,
                EVER_US if lens.known_at_us is None else lens.known_at_us,
            )
            found = self._past[key] = SnapshotOfParts(parts, SqliteContents(sql), partial(remasked, rules))
            if lens.every:
                found.put_history()
            while len(self._past) > _PAST_KEPT:
                self._past.popitem(last=False)
        self._past.move_to_end(key)
        return found, rules


def _sight(moment: Snapshot, view: View, rules: UserRules, lens: Lens) -> Sight:
    if lens.seen_since_us is not None:
        view = view.without(moment.older_than(lens.seen_since_us))
    return Sight(moment, view, rules)
