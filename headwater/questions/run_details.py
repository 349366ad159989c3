"""The question `run-details`: user, application, log links and row counts of a run, from its events."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from msgspec import Raw

from headwater.events.decode import decode
from headwater.events.facet_digests import is_deleted
from headwater.events.rule_facets import text_at
from headwater.events.times import parse_time
from headwater.events.wire import NULL
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_bodies import StoredBody, newest_event_with_member
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.shown_rules import LinkRule, allowed_link
from headwater.lineage.runs.event_order import Order, event_order
from headwater.lineage.runs.sent_facets import (
    canonicalizer_of,
    decode_members,
    parse_stored_event,
    run_facets,
    sent_datasets,
)
from headwater.questions.answer_types.runs import RunDetails, RunLink, RunStatistics, Side
from headwater.questions.task_runs import task_run_of

T = TypeVar("T")

_USERS = (
    ("spark_applicationDetails", "userName"),
    ("airflow", "dagRun", "triggering_user_name"),
    ("airflowDagRun", "dagRun", "triggering_user_name"),
    ("environment-properties", "environment-properties", "user"),
)
_APPLICATIONS = (
    ("spark_applicationDetails", "applicationId"),
    ("gcp_dataproc_spark", "appId"),
    ("airflow", "dagRun", "run_id"),
    ("airflowDagRun", "dagRun", "run_id"),
    ("dbt_run", "invocation_id"),
)
_TITLES = {
    "spark_applicationDetails.uiWebUrl": "Spark UI",
    "spark_applicationDetails.proxyUrl": "Spark UI behind a proxy",
    "spark_applicationDetails.historyUrl": "Spark history",
    "airflow.taskInstance.log_url": "Airflow log",
}
_ADDRESS = re.compile(r"(^|_|[a-z])(url|uri|link)$", re.IGNORECASE)
_DEEPEST, _MAX_LINKS = 6, 40
_SIDES: dict[str, Side] = {"inputStatistics": "read", "outputStatistics": "written"}


def run_details(
    run_id: str,
    events: Iterable[StoredBody],
    names: NameRules,
    resolve: Callable[[Name], Name],
    links: Iterable[LinkRule],
) -> RunDetails:
    """Answer the details of a run, from the newest value of each facet over its events (rule 1).

    resolve: maps a canonical name to its dataset. links: rules for hosts that may be linked to.
    """
    newest, counted = _NewestFacets[str](), _NewestFacets[tuple[str, Name]]()
    for event in events:
        wire = parse_stored_event(event.body)
        sent_us = parse_time(wire.eventTime)[0]
        time_us = event.received_us if sent_us is None else sent_us
        order = event_order(event.event_id, wire.eventType or "OTHER", time_us, event.received_us)
        for name, raw in run_facets(wire).items():
            newest.add_if_newer(name, order, raw)
        canonical = canonicalizer_of(wire, names.canonical_in_event, names.canonical_job)
        for dataset in sent_datasets(wire):
            for name, raw in (
                *decode_members(dataset.inputFacets).items(),
                *decode_members(dataset.outputFacets).items(),
            ):
                if name in _SIDES:
                    counted.add_if_newer((name, resolve(canonical(dataset.namespace, dataset.name))), order, raw)
    facets = newest.values()
    return RunDetails(
        run_id,
        user_of(facets),
        _first_text(facets, _APPLICATIONS),
        _count_member(_value_at(facets, "airflow", "taskInstance"), "try_number"),
        text_at(facets, "nominalTime", "nominalStartTime"),
        text_at(facets, "nominalTime", "nominalEndTime"),
        " ".join(filter(None, (text_at(facets, "processing_engine", word) for word in ("name", "version")))) or None,
        list(_run_links(facets, tuple(links))),
        [
            _statistics_in_facet(*key, value)
            for key, value in sorted(counted.values().items(), key=lambda each: each[0])
        ],
        task_run_of(facets),
    )


def written_by_run(bronze: Bronze, run_id: str, dataset: Name, names: NameRules) -> RunStatistics | None:
    """Return the row, byte and file counts that a run reported for an output; None if it reported none.

    The counts come from the run's latest event that has any.
    """
    body = newest_event_with_member(bronze, run_id, "outputStatistics") if bronze.exists() else None
    return _output_statistics_in(body, dataset, names) if body else None


def row_count_in(body: str, dataset: Name, names: NameRules) -> int | None:
    """Return the number of rows that an event reports for an output; None if it reports none."""
    found = _output_statistics_in(body, dataset, names)
    return found.rows if found else None


def _output_statistics_in(body: str, dataset: Name, names: NameRules) -> RunStatistics | None:
    wire = parse_stored_event(body)
    canonical = canonicalizer_of(wire, names.canonical_in_event, names.canonical_job)
    statistics = [
        (canonical(each.namespace, each.name), raw)
        for each in sent_datasets(wire)
        if (raw := decode_members(each.outputFacets).get("outputStatistics", NULL)) != NULL
    ]
    found = [
        raw for name, raw in statistics if name == dataset or len(statistics) == 1
    ]  # a single one may have another name
    return _statistics_in_facet("outputStatistics", dataset, decode(bytes(found[0]))) if found else None


def user_of(facets: Mapping[str, Any]) -> str | None:
    """Return the user who started a run, from its decoded facets."""
    return _first_text(facets, _USERS)


class _NewestFacets(Generic[T]):
    def __init__(self) -> None:
        self._found: dict[T, tuple[Order, Raw]] = {}

    def add_if_newer(self, key: T, order: Order, raw: Raw) -> None:
        if raw != NULL and (key not in self._found or self._found[key][0] < order):
            self._found[key] = order, raw

    def values(self) -> dict[T, Any]:
        return {key: decode(bytes(raw)) for key, (_, raw) in self._found.items() if not is_deleted(bytes(raw))}


def _first_text(facets: Mapping[str, Any], paths: Iterable[tuple[str, ...]]) -> str | None:
    return next((found for path in paths if (found := text_at(facets, *path))), None)


def _value_at(value: Any, *path: str) -> Any:
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _count_member(value: Any, member: str) -> int | None:
    found = value.get(member) if isinstance(value, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def _run_links(facets: Mapping[str, Any], rules: tuple[LinkRule, ...]) -> Iterator[RunLink]:
    """Yield all addresses in facets, each with a link target if a rule allows it."""
    found = sorted(_addresses(facets, (), _DEEPEST), key=lambda each: (each[0] not in _TITLES, each[0]))
    for place, text in found[:_MAX_LINKS]:
        yield RunLink(_TITLES.get(place, place), text, allowed_link(rules, text))


def _addresses(value: Any, path: tuple[str, ...], depth: int) -> Iterator[tuple[str, str]]:
    for name, member in value.items() if isinstance(value, dict) else ():
        if name.startswith("_"):
            continue  # producer and schema of the facet
        if isinstance(member, str) and member and _ADDRESS.search(name):
            yield ".".join((*path, name)), member
        elif depth:
            yield from _addresses(member, (*path, name), depth - 1)


def _statistics_in_facet(facet: str, dataset: Name, value: Any) -> RunStatistics:
    counts = (_count_member(value, word) for word in ("rowCount", "size", "fileCount"))
    return RunStatistics(*dataset.parts, _SIDES[facet], *counts)
