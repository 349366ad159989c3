"""DataHub by its own model: a run becomes metadata change proposals, handed over to its service, its topic, a file."""

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Protocol, cast

import msgspec

from headwater.extras import extra
from headwater.sinks.contract.sink_options import Options, Reveal, revealed
from headwater.sinks.contract.sink_shape import History, Outcome, Payload, SinkEvent, by_run
from headwater.sinks.merging.earlier_applications import Family, Waits, is_beat
from headwater.sinks.merging.merged_application import Application, application_of, united
from headwater.sinks.merging.merged_event import MergedEvent, merged
from headwater.sinks.targets.datahub.datahub_file import FileEmitter, FolderEmitter
from headwater.sinks.targets.datahub.datahub_holdings import held_by_datahub
from headwater.sinks.targets.datahub.datahub_options import DataHubOptions
from headwater.sinks.targets.datahub.datahub_proposals import Proposals
from headwater.sinks.targets.datahub.datahub_rest import RestEmitter
from headwater.sinks.targets.file_target import Folder, stored_folder

OPTIONS = DataHubOptions
holdings = held_by_datahub
log = logging.getLogger(__name__)

_MOST_BYTES = 15_000_000
"""Of a request; DataHub's own client keeps to it, as its service takes 16,000,000."""


class Emitter(Protocol):
    """How proposals reach DataHub; the same promises as a Target's."""

    def emit(self, payloads: Sequence[Payload]) -> Outcome:
        """Make one attempt; each payload is a JSON list of proposals."""

    def check(self) -> str:
        """Connect and authenticate, send nothing."""

    def close(self) -> None:
        """Close what is open."""


class DataHubTarget:
    """One DataHub."""

    largest = 20

    def __init__(self, emitter: Emitter, options: DataHubOptions) -> None:
        """Connect to nothing yet."""
        self._emitter = emitter
        self._proposals = Proposals(options)
        self.waits = _waits(options)
        self._given = options
        self._note: Callable[[str], None] = log.info if options.log_mcps else lambda _: None

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Convert events of which nothing else is known: each run by itself."""
        runs = [(of_one, merged(of_one)) for of_one in by_run(events, {})]
        return [payload for of_one, said in runs if (payload := self._payload(said, of_one[-1]))]

    def convert_runs(self, events: Sequence[SinkEvent], history: History) -> list[Payload]:
        """Return the proposals of each run, job and dataset, as a JSON list, at the place of its last event.

        Actions of an application that is told as one are left to it.
        """
        found, news = [], {event.head.event_id for event in events}
        for of_one in by_run(events, history):
            said = merged(of_one)
            if self.waits and application_of(said):
                continue
            said.counts_as_told = self._given.streaming_job or (
                self._given.coalesce_jobs and said.job_type("jobType") == "APPLICATION"
            )
            if self._is_due(said, of_one, news) and (payload := self._payload(said, of_one[-1])):
                found.append(payload)
        return found

    def convert_application(self, family: Family) -> Payload | None:
        """Return the proposals of an application as one job; None for what is no application of Spark's."""
        own: MergedEvent | None = None
        actions: dict[Application, list[MergedEvent]] = defaultdict(list)
        for said in map(merged, by_run(family.events, {})):
            said.counts_as_told = self._given.streaming_job
            if application := application_of(said):
                actions[application].append(said)
            elif said.run_id == family.run_id:
                own = said
        one = next((each for each in actions if each.run_id == family.run_id), None)
        return self._payload(united(one, own, actions[one]), family.at) if one else None

    def _is_due(self, said: MergedEvent, events: Sequence[SinkEvent], news: set[str]) -> bool:
        """Tell of a run whether its heartbeat has come; of all others always."""
        if not self._given.streaming_job or said.kind != "RUN":
            return True
        fresh = [each.head.received_us for each in events if each.head.event_id in news]
        old = [each.head.received_us for each in events if each.head.event_id not in news]
        return is_beat(fresh, old, int(self._given.streaming_heartbeat * 1e6))

    def _payload(self, said: MergedEvent, at: SinkEvent) -> Payload | None:
        if not (proposals := self._proposals.of(said)):
            return None
        body = msgspec.json.encode(proposals)
        size = len(body)
        unfit = f"{size} bytes of proposals; DataHub takes {_MOST_BYTES}" if size > _MOST_BYTES else None
        return Payload(at, body, unfit)

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Hand the proposals of several runs over."""
        for payload in payloads:
            self._note(payload.body.decode())
        return self._emitter.emit(payloads)

    def check(self) -> str:
        """Ask whether proposals would be taken, and send none."""
        return self._emitter.check()

    def close(self) -> None:
        """Close what is open."""
        self._emitter.close()


def _waits(given: DataHubOptions) -> Waits | None:
    heartbeat_us = int(given.streaming_heartbeat * 1e6) if given.streaming_job else None
    return Waits(given.stage_metadata_coalescing, heartbeat_us) if given.coalesce_jobs else None


def open_target(options: Options, reveal: Reveal) -> DataHubTarget:
    """Open a DataHub by its emitter; raises WrongSetting where a package for it is missing."""
    given = cast("DataHubOptions", options)
    return DataHubTarget(_emitter(given, reveal), given)


def _emitter(given: DataHubOptions, reveal: Reveal) -> Emitter:
    if given.emitter == "file" and given.filename:
        return FileEmitter(given.filename.expanduser())
    if given.emitter == "s3":
        return FolderEmitter(_bucket(given, reveal))
    if given.emitter == "adls":
        return FolderEmitter(stored_folder(given.adls_folder, revealed(given.adls_options, reveal)))
    if given.emitter == "kafka":
        with extra("datahub"):
            from headwater.sinks.targets.datahub.datahub_kafka import KafkaEmitter  # noqa: PLC0415 - imports an extra

            return KafkaEmitter(given, reveal)
    return RestEmitter(given, reveal)


def _bucket(given: DataHubOptions, reveal: Reveal) -> Folder:
    told = {
        "aws_region": given.region,
        "aws_endpoint_url": given.endpoint,
        "aws_profile": given.profile,
        "aws_access_key_id": given.access_key,
        "aws_secret_access_key": given.secret_key,
    }
    options = revealed({name: value for name, value in told.items() if value}, reveal)
    return stored_folder(f"s3://{given.bucket}/{given.prefix}", options)
