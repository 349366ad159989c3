"""Where sinks are asked about and ordered, by command and over HTTP, whether Headwater runs or not."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from headwater.errors import NotConfigured, NotKnown, Retry, WrongSetting
from headwater.events.times import iso, parse_time
from headwater.lake.bronze_follower import sources_ahead, sources_before
from headwater.lake.bronze_tables import Bronze
from headwater.paging import ListPage
from headwater.sinks.connecting.sink_secrets import Secrets
from headwater.sinks.contract.guarding import one_line
from headwater.sinks.contract.sink_options import Sink
from headwater.sinks.contract.sink_shape import CLOCK, Target
from headwater.sinks.contract.sinks_file import SinksText, sinks_of
from headwater.sinks.contract.target_registry import open_sink
from headwater.sinks.losses.sink_loss_report import Looked, loss_report
from headwater.sinks.operating import sink_operations
from headwater.sinks.running.sink_ledger import Ledger
from headwater.sinks.targets.purview.purview_target import qualified_names


@dataclass(frozen=True)
class SinkDesk:
    """The sinks of a file, and what they keep in the lake.

    Each question opens what it needs for itself, so they come from any thread, and a long one holds up no other.
    status: returns what the process that runs the sinks says, nothing where none runs; troubles: what is wrong with
    each station of this machine that cannot go on.
    """

    file: Callable[[], SinksText]
    bronze: Callable[[], Bronze]
    ledger: Callable[[], Ledger]
    secrets: Callable[[], Secrets]
    status: Callable[[], Mapping[str, Any]]
    troubles: Callable[[], Mapping[str, str]] = dict

    def sink(self, name: str) -> Sink:
        """Return a sink of the file; raises NotConfigured."""
        named = sinks_of(self.file())
        if name not in named:
            raise NotConfigured("sink", name, sorted(named), "Name one in sinks.yml.")
        return named[name]

    def listed(self) -> dict[str, Any]:
        """Return each sink; where the file is broken, what is wrong with it and the sinks that run all the same."""
        problem = None
        try:
            types = {name: sink.options.type for name, sink in sinks_of(self.file()).items()}
        except WrongSetting as error:
            problem = str(error)
            types = {name: said["type"] for name, said in self.status().get("sinks", {}).items()}
        return {"problem": problem, "items": self._items(types)}

    def _items(self, types: Mapping[str, str]) -> list[dict[str, Any]]:
        said = self.status().get("sinks", {})
        stopped = self.troubles().get("parser")
        return sink_operations.listed(
            types, self.bronze(), self.ledger(), said, time.time_ns() // 1000, stopped=stopped
        )

    def paused(self, name: str, *, is_paused: bool) -> dict[str, Any]:
        """Let a sink stand still, or go on; returns it."""
        sink = self.sink(name)
        sink_operations.paused(self.ledger(), name, is_paused=is_paused)
        return self._items({name: sink.options.type})[0]

    def reset(self, name: str, to: str) -> dict[str, Any]:
        """Let a sink go on from another place; raises WrongQuestion where `to` is none."""
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
                start = sink_operations.position(bronze, ledger, name, to)
                moment_us = ledger.progress(name, ledger.orders(name), [CLOCK])[CLOCK.epoch, CLOCK.partition]
        sink_operations.reset(ledger, name, {**start, CLOCK: moment_us or 0})
        return {"sink": name, "begins_behind": {each.partition: sequence for each, sequence in start.items()}}

    def failures(self, name: str, page: ListPage) -> dict[str, Any]:
        """List a page of what was given up, the oldest first where nothing else is asked for."""
        self.sink(name)
        found = self.ledger().failures_page(name, page)
        items = [{**row, **{key: iso(row[key]) for key in ("received_at", "failed_at")}} for row in found.rows]
        return {"items": items, **found.told}

    def redrive(self, name: str, most: int) -> dict[str, int]:
        """Send what was given up once more; raises Retry where the target is not there."""
        sink = self.sink(name)
        with self._target(name) as (target, secrets):
            return sink_operations.redrive(self.bronze(), self.ledger(), sink, target, most, hide=secrets.hide)

    def check(self, name: str) -> dict[str, Any]:
        """Connect and authenticate; raises Retry or WrongSetting, which says what is missing."""
        with self._target(name) as (target, secrets):
            return {"sink": name, "found": one_line(secrets.hide(target.check()))}

    def preview(self, name: str, of: str) -> dict[str, Any]:
        """Return exactly what would be sent of an event or a run; raises NotKnown."""
        with self._target(name) as (target, secrets):
            items = sink_operations.preview(self.bronze(), target, of, secrets.hide)
        if not items:
            raise NotKnown("event or run", of, (), "See `headwater events`.")
        return {"items": items}

    def losses(self, name: str, looked: Looked) -> dict[str, Any]:
        """Return what a sink's target cannot hold; raises NotKnown for a run that the lake does not have."""
        found = loss_report(self.bronze(), self.sink(name), looked)
        if looked.run is not None and not found["events"] + found["left_out"]:
            raise NotKnown("run", looked.run, (), "See `headwater events`.")
        return found

    def names(self, name: str, namespace: str, dataset: str) -> dict[str, Any]:
        """Explain what a dataset is called in a sink's catalog; raises WrongQuestion where names go as they are."""
        return qualified_names(self.sink(name).options).explain(namespace, dataset)

    @contextmanager
    def _target(self, name: str) -> Iterator[tuple[Target, Secrets]]:
        """Open a sink's target, and close it; whatever it says is said without secrets."""
        secrets = self.secrets()
        try:
            with closing(open_sink(self.sink(name), secrets.reveal)) as target:
                yield target, secrets
        except Retry as error:
            raise Retry(one_line(secrets.hide(str(error)))) from None
        except WrongSetting as error:
            raise WrongSetting(one_line(secrets.hide(str(error)))) from None
