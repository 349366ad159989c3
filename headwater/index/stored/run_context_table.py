"""Context from run facets: the parent job, the nominal time, and changes made through the API."""

import sqlite3
from collections.abc import Callable
from functools import lru_cache

from headwater.events.decode import decode
from headwater.events.event import Sent
from headwater.events.rule_facets import text_at
from headwater.events.times import parse_time
from headwater.events.wire import NULL
from headwater.index.stored.catalog_tables import JOB
from headwater.index.stored.described_table import NEWER
from headwater.index.stored.name_numbers import NameNumbers
from headwater.index.stored.run_numbers import RunNumbers
from headwater.index.stored.search_table import SearchTable
from headwater.index.stored.spans import ENTITY, WIDEN, Span, entity_rows, rows, widen
from headwater.index.writing.announced_changes import AnnouncedChange, read_change
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import job_key
from headwater.lineage.runs.newest_first import Order, order_bytes, order_text
from headwater.lineage.runs.run_facts import RunFacts
from headwater.lineage.runs.sent_facets import Facets


class RunContextTable:
    """Collects the facets of runs and writes them in `flush`."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        names: NameNumbers,
        runs: RunNumbers,
        search: SearchTable,
        jobs: Callable[[Name], Name],
    ):
        """search: receives the jobs that `parent` facets name. jobs: returns the canonical name of such a job."""
        self._jobs = jobs
        self._sql = connection
        self._names = names
        self._runs = runs
        self._search = search
        self._parents: dict[int, tuple[Order, Name]] = {}
        self._above: dict[tuple[Name], Span] = {}
        self._nominal: list[tuple[str, bytes, int | None, int | None]] = []
        self._changes: list[AnnouncedChange] = []

    def take(self, facets: Facets, sent: Sent, fact: RunFacts, shown: int) -> None:
        """Add the facets of a run. shown: the number of its job's display name."""
        if sent.parent_job_namespace is not None and sent.parent_job_name:
            known, name = self._parents.get(shown), self._jobs(Name(sent.parent_job_namespace, sent.parent_job_name))
            widen(self._above, (job_key(name, None),), (fact.order.time_us, fact.order.time_us))
            if known is None or known[0] < fact.order:
                self._parents[shown] = fact.order, name
        if facets.get("nominalTime", NULL) != NULL:
            self._nominal.append((fact.run_key, order_bytes(fact.order), *_nominal(bytes(facets["nominalTime"]))))
        change = read_change(facets, fact)
        if change:
            self._changes.append(change)

    def flush(self, generation: int) -> None:
        """Write everything that was added since the last call. generation: number of the batch."""
        write = self._sql.executemany
        write(
            "INSERT INTO nominal_times VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            f"event_order = excluded.event_order, start_us = excluded.start_us, end_us = excluded.end_us {NEWER}",
            [(self._runs[run_key], *rest) for run_key, *rest in self._nominal],
        )
        write(
            "UPDATE jobs SET parent = ?1, parent_order = ?2 WHERE shown = ?3 AND coalesce(parent_order, '') <= ?2",
            [
                (self._names.number(job_key(name, None)), order_text(order), shown)
                for shown, (order, name) in self._parents.items()
            ],
        )
        self._flush_above(generation)
        write(
            "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            "event_order = excluded.event_order, time_us = excluded.time_us, value = excluded.value, "
            f"generation = excluded.generation {NEWER}",
            [(self._names.number(each.about), *each[1:], generation) for each in self._changes],
        )
        for each in (self._parents, self._above, self._nominal, self._changes):
            each.clear()

    def _flush_above(self, generation: int) -> None:
        """Add the jobs that only `parent` facets name."""
        found = {(JOB, self._names.number(name)): span for (name,), span in self._above.items()}
        write = self._sql.executemany
        write(
            "INSERT INTO jobs(key, shown, named) VALUES (?1, ?1, 1) ON CONFLICT DO UPDATE SET named = 1",
            [(number,) for _, number in found],
        )
        write(ENTITY, entity_rows(found, generation))
        for (name,), (_, last_us) in self._above.items():
            self._search.use("job", name, last_us, partners=0)
        spaces: dict[tuple[str], Span] = {}
        for (name,), span in self._above.items():
            widen(spaces, (name.namespace,), span)
        write(f"INSERT INTO namespaces VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET {WIDEN}", rows(spaces))


@lru_cache(maxsize=1_000)
def _nominal(facet: bytes) -> tuple[int | None, int | None]:
    """Return the start and end (us) of a `nominalTime` facet. Cached, because many runs share one hour."""
    nominal = decode(facet)
    return _time(text_at(nominal, "nominalStartTime")), _time(text_at(nominal, "nominalEndTime"))


def _time(text: str | None) -> int | None:
    return parse_time(text)[0] if text else None
