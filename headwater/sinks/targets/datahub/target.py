"""Send runs to DataHub as metadata change proposals: to its service, its topic, or files."""

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Protocol, cast

import msgspec

from headwater.common.extras import extra
from headwater.sinks.contract.sink_options import Options, SecretResolver, resolve_secrets
from headwater.sinks.contract.sink_shape import History, Outcome, Payload, SinkEvent, group_by_run
from headwater.sinks.merging.earlier_applications import ApplicationEvents, SendPolicy, is_heartbeat_due
from headwater.sinks.merging.merged_application import Application, application_of, merge_application
from headwater.sinks.merging.merged_event import MergedEvent, merge_events
from headwater.sinks.targets.datahub.file import FileEmitter, FolderEmitter
from headwater.sinks.targets.datahub.options import DataHubOptions
from headwater.sinks.targets.datahub.proposals import ProposalBuilder
from headwater.sinks.targets.datahub.rest import RestEmitter
from headwater.sinks.targets.datahub.support import datahub_support
from headwater.sinks.targets.file_target import Folder, stored_folder

OPTIONS = DataHubOptions
support_table = datahub_support
log = logging.getLogger(__name__)

_MOST_BYTES = 15_000_000
"""Maximum size of a request, as in DataHub's own client; the service accepts 16,000,000."""


class Emitter(Protocol):
    """How proposals reach DataHub; behaves like a Target."""

    def emit(self, payloads: Sequence[Payload]) -> Outcome:
        """Make one attempt; each payload is a JSON list of proposals."""

    def check(self) -> str:
        """Connect and authenticate without sending proposals."""

    def close(self) -> None:
        """Close open connections."""


class DataHubTarget:
    """A target that sends to one DataHub instance."""

    largest = 20

    def __init__(self, emitter: Emitter, options: DataHubOptions) -> None:
        self._emitter = emitter
        self._proposals = ProposalBuilder(options)
        self.send_policy = _send_policy(options)
        self._given = options
        self._note: Callable[[str], None] = log.info if options.log_mcps else lambda _: None

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Convert events whose runs have no earlier events."""
        runs = [(of_one, merge_events(of_one)) for of_one in group_by_run(events, {})]
        return [payload for of_one, merged in runs if (payload := self._payload(merged, of_one[-1]))]

    def convert_runs(self, events: Sequence[SinkEvent], history: History) -> list[Payload]:
        """Return the proposals of each run, job and dataset as a JSON list, at the position of its last event.

        Skips the actions of an application that is sent as one job.
        """
        found, news = [], {event.head.event_id for event in events}
        for of_one in group_by_run(events, history):
            merged = merge_events(of_one)
            if self.send_policy and application_of(merged):
                continue
            merged.counts_in_any_state = self._given.streaming_job or (
                self._given.coalesce_jobs and merged.job_type("jobType") == "APPLICATION"
            )
            if self._is_due(merged, of_one, news) and (payload := self._payload(merged, of_one[-1])):
                found.append(payload)
        return found

    def convert_application(self, application_events: ApplicationEvents) -> Payload | None:
        """Return the proposals of an application as one job; None if the events are not a Spark application."""
        own: MergedEvent | None = None
        actions: dict[Application, list[MergedEvent]] = defaultdict(list)
        for merged in map(merge_events, group_by_run(application_events.events, {})):
            merged.counts_in_any_state = self._given.streaming_job
            if application := application_of(merged):
                actions[application].append(merged)
            elif merged.run_id == application_events.run_id:
                own = merged
        one = next((each for each in actions if each.run_id == application_events.run_id), None)
        return self._payload(merge_application(one, own, actions[one]), application_events.at) if one else None

    def _is_due(self, merged: MergedEvent, events: Sequence[SinkEvent], news: set[str]) -> bool:
        """Return whether a streaming run's heartbeat is due; everything else always is."""
        if not self._given.streaming_job or merged.kind != "RUN":
            return True
        fresh = [each.head.received_us for each in events if each.head.event_id in news]
        old = [each.head.received_us for each in events if each.head.event_id not in news]
        return is_heartbeat_due(fresh, old, int(self._given.streaming_heartbeat * 1e6))

    def _payload(self, merged: MergedEvent, at: SinkEvent) -> Payload | None:
        if not (proposals := self._proposals.build(merged)):
            return None
        body = msgspec.json.encode(proposals)
        size = len(body)
        unfit = f"{size} bytes of proposals; DataHub accepts at most {_MOST_BYTES}" if size > _MOST_BYTES else None
        return Payload(at, body, unfit)

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Send the proposals of several runs."""
        for payload in payloads:
            self._note(payload.body.decode())
        return self._emitter.emit(payloads)

    def check(self) -> str:
        """Check access without sending proposals."""
        return self._emitter.check()

    def close(self) -> None:
        """Close open connections."""
        self._emitter.close()


def _send_policy(given: DataHubOptions) -> SendPolicy | None:
    heartbeat_us = int(given.streaming_heartbeat * 1e6) if given.streaming_job else None
    return SendPolicy(given.stage_metadata_coalescing, heartbeat_us) if given.coalesce_jobs else None


def open_target(options: Options, reveal: SecretResolver) -> DataHubTarget:
    """Return the target with its emitter; raises WrongSetting if a package is missing."""
    given = cast("DataHubOptions", options)
    return DataHubTarget(_emitter(given, reveal), given)


def _emitter(given: DataHubOptions, reveal: SecretResolver) -> Emitter:
    if given.emitter == "file" and given.filename:
        return FileEmitter(given.filename.expanduser())
    if given.emitter == "s3":
        return FolderEmitter(_bucket(given, reveal))
    if given.emitter == "adls":
        return FolderEmitter(stored_folder(given.adls_folder, resolve_secrets(given.adls_options, reveal)))
    if given.emitter == "kafka":
        with extra("datahub"):
            from headwater.sinks.targets.datahub.kafka import KafkaEmitter  # noqa: PLC0415 - imports an extra

            return KafkaEmitter(given, reveal)
    return RestEmitter(given, reveal)


def _bucket(given: DataHubOptions, reveal: SecretResolver) -> Folder:
    settings = {
        "aws_region": given.region,
        "aws_endpoint_url": given.endpoint,
        "aws_profile": given.profile,
        "aws_access_key_id": given.access_key,
        "aws_secret_access_key": given.secret_key,
    }
    options = resolve_secrets({name: value for name, value in settings.items() if value}, reveal)
    return stored_folder(f"s3://{given.bucket}/{given.prefix}", options)
