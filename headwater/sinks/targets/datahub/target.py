"""Send runs to DataHub as metadata change proposals: to its metadata service, its Kafka topic, or files."""

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import cast

import msgspec

from headwater.sinks.interface.options import Options, SecretResolver
from headwater.sinks.interface.shape import History, Outcome, Payload, SinkEvent, group_by_run
from headwater.sinks.interface.support import ItemSupport, SupportTable
from headwater.sinks.merging.applications import (
    Application,
    ApplicationEvents,
    SendPolicy,
    application_of,
    is_heartbeat_due,
    merge_application,
)
from headwater.sinks.merging.runs import MergedEvent, merge_events
from headwater.sinks.targets.datahub.emitters import Emitter, open_emitter
from headwater.sinks.targets.datahub.options import DataHubOptions
from headwater.sinks.targets.datahub.proposals import ProposalBuilder

OPTIONS = DataHubOptions
_MOST_BYTES = 15_000_000
"""Maximum size of a payload in bytes, as in DataHub's own client; the service accepts 16,000,000."""
_BASE_SUPPORT = (
    ItemSupport("state", "RUNNING", "not", "DataHub knows started and ended runs only"),
    ItemSupport("state", "OTHER", "not", "DataHub knows started and ended runs only"),
    ItemSupport("run facet", "parent", "part", "the parent run, not the root run"),
    ItemSupport("run facet", "parentRun", "part", "the parent run, if there is no `parent` facet"),
    ItemSupport("run facet", "tags", "not", "only jobs and datasets have tags"),
    ItemSupport("job facet", "documentation", "part", "its text"),
    ItemSupport("long text", "job.documentation", "whole"),
    ItemSupport("nested value", "job.ownership", "part", "owners; unknown types become TECHNICAL_OWNER"),
    ItemSupport("nested value", "job.tags", "part", "key and value, without the source of a tag"),
    ItemSupport("nested value", "*", "not", "properties contain plain texts and numbers, `facet.member.member`"),
    ItemSupport("long text", "*", "not", "properties are cut after 1,000 characters"),
    ItemSupport("many values", "*", "not", "the first 200 properties per run or job, in alphabetical order"),
    ItemSupport("dataset facet", "symlinks", "part", "the last table symlink becomes the dataset's name"),
    ItemSupport("input facet", "*", "not", "statistics are not sent"),
    ItemSupport("output facet", "outputStatistics", "part", "rows, bytes and files in `operation`, for complete runs"),
    ItemSupport("output facet", "*", "not", "other statistics are not sent"),
    ItemSupport("dataset facet", "lifecycleStateChange", "part", "in `operation`, for outputs of complete runs"),
    ItemSupport("dataset-wide edge", "*", "part", "an edge to each known column of the output"),
    ItemSupport("dataset edge", "*", "part", "between datasets, without columns"),
    ItemSupport("job edge", "*", "not", "edges connect datasets"),
    ItemSupport("description", "*", "not", "`transformOperation` contains types and subtypes"),
    ItemSupport(
        "written dataset",
        "*",
        "part",
        "a dataset that a run reads and rewrites is sent as an input, not as an output (D9)",
    ),
)
_COLUMNS_ONLY = "its columns only, if a whole dataset depends on a column"
_SUPPORT_WITHOUT_DATASETS = (
    ItemSupport("event", "DATASET", "not", "datasets are sent with `metadata.dataset.materialize`"),
    ItemSupport("dataset facet", "schema", "part", _COLUMNS_ONLY),
    ItemSupport("nested column", "*", "part", _COLUMNS_ONLY),
    ItemSupport("dataset facet", "*", "not", "datasets are sent with `metadata.dataset.materialize`"),
)
_SUPPORT_WITHOUT_SCHEMAS = (
    ItemSupport("dataset facet", "schema", "part", _COLUMNS_ONLY),
    ItemSupport("nested column", "*", "part", _COLUMNS_ONLY),
)
_SCHEMA_SUPPORT = (ItemSupport("dataset facet", "schema", "part", "names, types and descriptions of columns"),)
_DATASET_SUPPORT = (
    ItemSupport("dataset facet", "tags", "part", "key and value, not where a tag comes from"),
    ItemSupport("dataset facet", "*", "not", "only the facets schema, tags, symlinks and lineage are sent"),
)
log = logging.getLogger(__name__)


def support_table(options: Options) -> SupportTable:
    """Return what DataHub's model can represent with these options; D5 to D9 in docs/reference/sinks.md."""
    given = cast("DataHubOptions", options)
    datasets = (
        (*(_SCHEMA_SUPPORT if given.schemas else _SUPPORT_WITHOUT_SCHEMAS), *_DATASET_SUPPORT)
        if given.materialize
        else _SUPPORT_WITHOUT_DATASETS
    )
    return (*_BASE_SUPPORT, *datasets, ItemSupport("*", "*", "whole"))


class DataHubTarget:
    """A target that sends to one DataHub instance."""

    largest = 20

    def __init__(self, emitter: Emitter, options: DataHubOptions) -> None:
        self._emitter = emitter
        self._proposals = ProposalBuilder(options)
        self.send_policy = _send_policy(options)
        self._given = options
        self._log_proposals: Callable[[str], None] = log.info if options.log_mcps else lambda _: None

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Convert events of runs that have no earlier events."""
        runs = [(of_one, merge_events(of_one)) for of_one in group_by_run(events, {})]
        return [payload for of_one, merged in runs if (payload := self._payload(merged, of_one[-1]))]

    def convert_runs(self, events: Sequence[SinkEvent], history: History) -> list[Payload]:
        """Return one payload for each run, job and dataset: a JSON list of proposals, with the last event's position.

        Skips the actions of Spark applications if the options say to send an application as one job.
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

    def _is_due(self, merged: MergedEvent, events: Sequence[SinkEvent], new_event_ids: set[str]) -> bool:
        """Return whether a run's heartbeat is due; always true without `streaming_job`, and for jobs and datasets."""
        if not self._given.streaming_job or merged.kind != "RUN":
            return True
        fresh = [each.head.received_us for each in events if each.head.event_id in new_event_ids]
        old = [each.head.received_us for each in events if each.head.event_id not in new_event_ids]
        return is_heartbeat_due(fresh, old, int(self._given.streaming_heartbeat * 1e6))

    def _payload(self, merged: MergedEvent, at: SinkEvent) -> Payload | None:
        if not (proposals := self._proposals.build_proposals(merged)):
            return None
        body = msgspec.json.encode(proposals)
        size = len(body)
        unfit = f"{size} bytes of proposals; DataHub accepts at most {_MOST_BYTES}" if size > _MOST_BYTES else None
        return Payload(at, body, unfit)

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Send the proposals of several runs."""
        for payload in payloads:
            self._log_proposals(payload.body.decode())
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
    """Return the target with its emitter; raises WrongSetting if a package or a secret is missing."""
    given = cast("DataHubOptions", options)
    return DataHubTarget(open_emitter(given, reveal), given)
