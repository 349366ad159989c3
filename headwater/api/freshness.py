"""How old the oldest acknowledged event is that questions cannot see yet, and what an unknown name means until then."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from headwater.api.shapes.operations import Freshness, GoldFreshness, IndexLag
from headwater.errors import Behind, HeadwaterError, NotBuilt, NotConfigured, NotKnown
from headwater.eventlog import LogReader, Readers, each
from headwater.events.position import Source
from headwater.events.times import iso
from headwater.index.home import IndexHome
from headwater.index.reading.served import building_progress, served_progress, served_set_aside
from headwater.index.stored.set_aside import SetAside
from headwater.lake.bronze_follower import ahead, oldest_ahead_us
from headwater.lake.bronze_tables import Bronze
from headwater.lake.gold_pass import Gold

T = TypeVar("T")

_LOOK_S = 1.0
_NOT_BUILT = "Nothing can be answered yet: the index of the lake is still being built."
_LEAST_S = 0.001
"""Age of what waits although the clock of who received it is ahead of ours: 0 is kept for nothing waits."""


class WaitingEvents(NamedTuple):
    """What waits in the log for bronze, and in bronze for the index: how many events, age of the oldest (s)."""

    log_s: float = 0.0
    bronze_s: float = 0.0
    log_events: int = 0
    bronze_events: int = 0

    @property
    def worst_s(self) -> float:
        """Age of the oldest event that questions cannot see."""
        return max(self.log_s, self.bronze_s)

    @property
    def events(self) -> int:
        """How many events questions cannot see."""
        return self.log_events + self.bronze_events


class FreshnessMeter:
    """Looks at log, lake and index; may be asked from any thread."""

    def __init__(
        self,
        readers: Readers,
        bronze: Bronze,
        home: IndexHome,
        gold: Gold,
        troubles: Callable[[], Mapping[str, str]] = dict,
    ):
        """Open nothing. readers, bronze and gold: used by nobody else, for they are not for two threads at once.

        troubles: tells what is wrong with each station of this machine that cannot go on.
        """
        self.troubles = troubles
        self._readers = readers
        self._bronze = bronze
        self._home = home
        self._gold = gold
        self._one_at_a_time = threading.Lock()
        self._built_look, self._unbuilt_s = -_LOOK_S, 0.0

    def waiting(self) -> WaitingEvents:
        """Tell what waits: an event that was acknowledged before is counted, or questions from now on see it.

        The stations are looked at in the order of the data's way, so that what moves on meanwhile is met at the next.
        Raises LogUnavailable or LakeUnavailable.
        """
        with self._one_at_a_time:
            return self._waiting()

    def oldest_unseen_us(self) -> int | None:
        """Return when the oldest event was received that questions do not see (us, UTC), None where they see all.

        Like `waiting`, and raises what it raises.
        """
        with self._one_at_a_time:
            found = self._readers()
            in_log = _oldest_us(found, self._bronze.watermarks([reader.source for reader in found]))
            in_bronze = ahead(self._bronze, served_progress(self._home))[1]
        return min((each_us for each_us in (*in_log, in_bronze) if each_us is not None), default=None)

    def answer(self) -> Freshness:
        """Answer what waits, and how far gold is; see docs/api.md."""
        with self._one_at_a_time:
            waiting = self._waiting()
            gold = self._gold_freshness(waiting.log_s)
            return Freshness(waiting.worst_s, waiting.log_s, waiting.bronze_s, waiting.events, gold)

    def index_lag(self) -> IndexLag:
        """Answer what questions do not know: what waits, and what the index could not take."""
        waiting = self.waiting()
        return IndexLag(waiting.events, waiting.worst_s, len(self.set_aside(0)))

    def set_aside(self, since_us: int) -> list[tuple[Source, SetAside]]:
        """Return the events that the index could not take, received since then."""
        return served_set_aside(self._home, since_us)

    def certain(self, ask: Callable[[], T], unknown: type[HeadwaterError] = NotKnown) -> T:
        """Return an answer; the error `unknown` is raised only where no acknowledged event knows the name.

        Raises Behind while events wait that may know it, and until there is an index to answer from.
        """
        try:
            return ask()
        except NotConfigured:
            raise
        except NotBuilt as error:
            raise self._until_built(error) from error
        except unknown as error:
            waiting = self.waiting()
            if waiting.worst_s:
                where = "log" if waiting.log_s == waiting.worst_s else "lake"
                unknown_yet = f"{error}{self._index_trouble()}"
                raise Behind(unknown_yet, where, waiting.worst_s, getattr(error, "nearest", ())) from error
        return ask()  # what came in between the question and the look can be seen by now

    def _until_built(self, error: NotBuilt) -> HeadwaterError:
        """Say how far the index is that is being built, looking once a second: whoever starts has little time."""
        with self._one_at_a_time:
            now = time.monotonic()
            if now >= self._built_look + _LOOK_S and self._bronze.exists():
                oldest_us = ahead(self._bronze, building_progress(self._home))[1]
                self._built_look, self._unbuilt_s = now, max(_LEAST_S, _age_s(oldest_us))
        if not self._unbuilt_s:
            return error
        return Behind(f"{_NOT_BUILT}{self._index_trouble()}", "lake", self._unbuilt_s)

    def _index_trouble(self) -> str:
        """Return why the index does not go on, as a sentence to append; empty if it does."""
        why = self.troubles().get("index")
        return f" The index does not go on: {why}" if why else ""

    def _waiting(self) -> WaitingEvents:
        found = self._readers()
        passed = self._bronze.watermarks([reader.source for reader in found])
        log_s = _age_s(*_oldest_us(found, passed))
        in_log = sum(each(found, lambda reader: reader.pending(passed[reader.source]))) if log_s else 0
        in_bronze, oldest_us = ahead(self._bronze, served_progress(self._home))
        return WaitingEvents(log_s, _age_s(oldest_us), in_log, in_bronze)

    def _gold_freshness(self, in_log_s: float) -> GoldFreshness | None:
        """Tell of gold, which Spark makes when it is told to: questions of ours do not read it."""
        last = self._gold.last_pass()
        if last is None:
            return None
        lacking_s = _age_s(oldest_ahead_us(self._bronze, last.progress))
        return GoldFreshness(iso(last.at_us) or "", max(in_log_s, lacking_s))


def log_age_s(readers: Readers, bronze: Bronze) -> float:
    """Return the age of the oldest event that waits in the log for bronze, 0 where none does.

    Raises LogUnavailable or LakeUnavailable.
    """
    found = readers()
    return _age_s(*_oldest_us(found, bronze.watermarks([reader.source for reader in found])))


def _oldest_us(readers: Sequence[LogReader], passed: Mapping[Source, int]) -> list[int | None]:
    return each(readers, lambda reader: reader.received_us(passed[reader.source] + 1))


def _age_s(*received_us: int | None) -> float:
    """Return the age of the oldest of what waits, 0 where nothing does."""
    oldest = min((each_us for each_us in received_us if each_us is not None), default=None)
    return 0.0 if oldest is None else max(_LEAST_S, time.time() - oldest / 1e6)
