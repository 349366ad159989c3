"""Query and control sinks, from commands and over HTTP, whether or not Headwater is running."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from headwater.common.errors import NotConfigured, NotKnown, Retry, WrongSetting
from headwater.common.paging import ListPage
from headwater.events.times import iso, parse_time
from headwater.lake.bronze_follower import sources_ahead, sources_before
from headwater.lake.bronze_tables import Bronze
from headwater.sinks.connecting.sink_secrets import Secrets
from headwater.sinks.contract.error_isolation import one_line
from headwater.sinks.contract.sink_options import Sink
from headwater.sinks.contract.sink_shape import CLOCK, Target
from headwater.sinks.contract.sinks_file import SinksSource, load_sinks
from headwater.sinks.contract.target_registry import open_sink
from headwater.sinks.losses.sink_loss_report import LossSelection, loss_report
from headwater.sinks.operating import sink_operations
from headwater.sinks.running.sink_ledger import SinkLedger
from headwater.sinks.targets.purview.target import qualified_names


@dataclass(frozen=True)
class SinkService:
    """The sinks of a file and their state in the lake.

    Each call opens what it needs, so any thread may call it and a long call does not block others.
    status: returns the status of the process that runs the sinks, empty if none runs. troubles: returns why stations of
    this machine cannot continue, by station.
    """

    file: Callable[[], SinksSource]
    bronze: Callable[[], Bronze]
    ledger: Callable[[], SinkLedger]
    secrets: Callable[[], Secrets]
    status: Callable[[], Mapping[str, Any]]
    troubles: Callable[[], Mapping[str, str]] = dict

    def sink(self, name: str) -> Sink:
        """Return a sink of the file; raises NotConfigured."""
        named = load_sinks(self.file())
        if name not in named:
            raise NotConfigured("sink", name, sorted(named), "Add it to sinks.yml, or use one of these names.")
        return named[name]

    def list_sinks(self) -> dict[str, Any]:
        """List the sinks; if the file is invalid, return the problem and the sinks that still run."""
        problem = None
        try:
            types = {name: sink.options.type for name, sink in load_sinks(self.file()).items()}
        except WrongSetting as error:
            problem = str(error)
            types = {name: state["type"] for name, state in self.status().get("sinks", {}).items()}
        return {"problem": problem, "items": self._items(types)}

    def _items(self, types: Mapping[str, str]) -> list[dict[str, Any]]:
        states = self.status().get("sinks", {})
        stopped = self.troubles().get("parser")
        return sink_operations.list_sinks(
            types, self.bronze(), self.ledger(), states, time.time_ns() // 1000, stopped=stopped
        )

    def set_paused(self, name: str, *, is_paused: bool) -> dict[str, Any]:
        """Pause or resume a sink; returns its status."""
        sink = self.sink(name)
        sink_operations.set_paused(self.ledger(), name, is_paused=is_paused)
        return self._items({name: sink.options.type})[0]

    def reset(self, name: str, to: str) -> dict[str, Any]:
        """Move a sink to another position; raises WrongQuestion if `to` is not a valid position."""
        self.sink(name)
        bronze, ledger = self.bronze(), self.ledger()
        moment_us, _ = parse_time(to)
        match to:
            case "start":
                start = {}
            case "now":
                start, moment_us = sources_ahead(bronze, {}), time.time_ns() // 1000
            case _ if moment_us is not None:
                start = sources_before(bronze, moment_us)
            case _:
                start = sink_operations.parse_position(bronze, ledger, name, to)
                moment_us = ledger.progress(name, ledger.desired_state(name), [CLOCK])[CLOCK.epoch, CLOCK.partition]
        sink_operations.reset(ledger, name, {**start, CLOCK: moment_us or 0})
        return {"sink": name, "begins_behind": {each.partition: sequence for each, sequence in start.items()}}

    def failures(self, name: str, page: ListPage) -> dict[str, Any]:
        """List a page of dead letters, oldest first by default."""
        self.sink(name)
        found = self.ledger().failures_page(name, page)
        items = [{**row, **{key: iso(row[key]) for key in ("received_at", "failed_at")}} for row in found.rows]
        return {"items": items, **found.info}

    def redrive(self, name: str, most: int) -> dict[str, int]:
        """Send dead letters again; raises Retry if the target is unavailable."""
        sink = self.sink(name)
        with self._target(name) as (target, secrets):
            return sink_operations.redrive(self.bronze(), self.ledger(), sink, target, most, mask_secrets=secrets.mask)

    def check(self, name: str) -> dict[str, Any]:
        """Connect and authenticate; raises Retry or WrongSetting with what is missing."""
        with self._target(name) as (target, secrets):
            return {"sink": name, "found": one_line(secrets.mask(target.check()))}

    def preview(self, name: str, of: str) -> dict[str, Any]:
        """Return exactly what the sink would send for an event or a run; raises NotKnown."""
        with self._target(name) as (target, secrets):
            items = sink_operations.preview(self.bronze(), target, of, secrets.mask)
        if not items:
            raise NotKnown("event or run", of, (), "List the known events with `headwater events`.")
        return {"items": items}

    def losses(self, name: str, selection: LossSelection) -> dict[str, Any]:
        """Return what a sink's target cannot represent; raises NotKnown for a run that is not in the lake."""
        found = loss_report(self.bronze(), self.sink(name), selection)
        if selection.run is not None and not found["events"] + found["left_out"]:
            raise NotKnown("run", selection.run, (), "List the known events with `headwater events`.")
        return found

    def names(self, name: str, namespace: str, dataset: str) -> dict[str, Any]:
        """Explain the name of a dataset in a sink's catalog; raises WrongQuestion if the target does not map names."""
        return qualified_names(self.sink(name).options).explain(namespace, dataset)

    @contextmanager
    def _target(self, name: str) -> Iterator[tuple[Target, Secrets]]:
        """Open a sink's target and close it; secrets are masked in its errors."""
        secrets = self.secrets()
        try:
            with closing(open_sink(self.sink(name), secrets.reveal)) as target:
                yield target, secrets
        except Retry as error:
            raise Retry(one_line(secrets.mask(str(error)))) from None
        except WrongSetting as error:
            raise WrongSetting(one_line(secrets.mask(str(error)))) from None
