"""How everything fares, kept from question to question: judged anew is what events were about, and whose time has come.

A verdict follows from events and from the time now alone; each says up to when it stays if no event comes.
"""

from itertools import islice
from typing import NamedTuple

from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.touched import touched_since
from headwater.lineage.names.dataset_name import Name
from headwater.questions.health_reader import HealthReader, Own

_APART_US = 60_000_000
"""Two who ask at once ask at one moment; who asks for one further back begins anew."""


class Judged(NamedTuple):
    """What is kept of how something fares, and until when it is so; unwell: all of it where it does not fare well."""

    until_us: int
    success_us: int | None
    unwell: Own | None


class KnownHealth:
    """How all that is written fares, and every job, by the number of its key; of one index's file."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.datasets: dict[Name, Judged] = {}
        self.jobs: dict[int, Judged] = {}
        self._to_judge: set[Name] = set()
        self._jobs_to_judge: set[int] = set()
        self._generation = 0
        self._now_us = self._ahead_us = 0

    def moment(self, now_us: int) -> int:
        """Return the moment at which is judged for who asks now."""
        if now_us < self._now_us - _APART_US:
            self._now_us = self._generation = 0
        self._now_us = max(self._now_us, now_us)
        return self._now_us

    def bring_up(self, live: LiveGraph, reader: HealthReader, most: int) -> bool:
        """Judge so many things that are to be judged; tells whether nothing is left to be judged at this moment.

        live: at rest on the generation that the reader reads.
        """
        self._take_events(live, reader)
        self._take_time(reader)
        for name in list(islice(self._to_judge, most)):
            self._judge(name, reader)
            self._to_judge.discard(name)
        for job in list(islice(self._jobs_to_judge, most)):
            self.jobs[job] = _judged(reader.of_job(job))
            self._jobs_to_judge.discard(job)
        return not (self._to_judge or self._jobs_to_judge)

    def _judge(self, name: Name, reader: HealthReader) -> None:
        if reader.times.outputs(name):
            self.datasets[name] = _judged(reader.of_dataset(name))
        else:
            self.datasets.pop(name, None)

    def _take_events(self, live: LiveGraph, reader: HealthReader) -> None:
        """Let be judged what events were about since the last time: everything, where that may be other than it was.

        So it is also once a time has come that an event named as one to come.
        """
        touched = touched_since(live, self._generation) if self._ahead_us > reader.now_us else None
        if touched is None:
            self.datasets.clear()
            self.jobs.clear()
            self._to_judge = {live.names.name(number).plain for number in reader.times.written()}
            self._jobs_to_judge = set(reader.times.jobs())
        else:
            for number in touched.datasets:
                name = live.names.name(number)
                self._to_judge |= {name.plain, live.resolve(name)}
            self._to_judge.update(name.plain for job in touched.jobs for name in reader.times.written_by(job))
            self._jobs_to_judge |= touched.jobs & reader.times.that_ran(touched.jobs)
        self._generation, self._ahead_us = live.generation, reader.times.ahead_us()

    def _take_time(self, reader: HealthReader) -> None:
        now_us = reader.now_us
        self._to_judge.update(name for name, each in self.datasets.items() if each.until_us < now_us)
        self._jobs_to_judge.update(job for job, each in self.jobs.items() if each.until_us < now_us)


def _judged(own: Own) -> Judged:
    return Judged(own.until_us, own.success.time_us if own.success else None, None if own.is_well else own)
