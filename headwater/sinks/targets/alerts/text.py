"""What a message says, for all targets; each target lays it out within its limits."""

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from msgspec import UNSET

from headwater.sinks.interface.error_isolation import escape_control_characters
from headwater.sinks.targets.alerts.server import AffectedDataset, ReportedIncident
from headwater.sinks.targets.webhook.server import BrokenContract

_NAMES = 10
"""Maximum number of datasets, contracts or owners that a message names."""
_LINES = 20
"""Maximum number of incidents that a summary names."""
_TITLE = 140
_LONG = 1_000


class AlertText(NamedTuple):
    """A message. error: lines, or "". facts: (label, text). lines: the incidents of a summary. link: an address."""

    title: str
    severity: str
    is_resolved: bool
    summary: str
    error: str
    facts: tuple[tuple[str, str], ...]
    lines: tuple[str, ...]
    link: str


def incident_title(incident: ReportedIncident) -> str:
    """Return the kind and the subject of an incident in one line, for all kinds."""
    subject = incident.subject
    name = subject.name or subject.namespace
    if subject.display_name is not UNSET and subject.display_name:
        name = subject.display_name
    parts = [subject.test, "on" if subject.test else None, f"{name}.{subject.column}" if subject.column else name]
    kind = incident.kind.replace(".", " ").capitalize()
    return clip(one_line(f"{kind}: {' '.join(part for part in parts if part)}"), _TITLE)


def incident_text(incident: ReportedIncident, contracts: Sequence[BrokenContract], page: str) -> AlertText:
    """Return the message about one incident. page: address of the dashboard."""
    mark = "Resolved: " if incident.is_resolved else ""
    error = incident.error
    lines = [error.message, error.frame or ""] if error else []
    broken = [_contract_text(each) for each in contracts if is_about(each, incident)]
    facts = (
        ("Severity", incident.severity),
        ("Opened", incident.opened),
        ("Due", incident.due or ""),
        ("Resolved", incident.resolved or ""),
        ("Failed runs", str(incident.failureCount) if incident.failureCount > 1 else ""),
        ("Affected", _names([_dataset_name(each) for each in incident.affected], incident.affectedCount)),
        ("Broken contracts", _names(broken, len(broken))),
        ("Owners", _names([each.name for each in incident.owners], len(incident.owners))),
    )
    return AlertText(
        mark + incident_title(incident),
        incident.severity,
        incident.is_resolved,
        clip(one_line(incident.summary), _LONG),
        "\n".join(clip(one_line(line), _LONG) for line in lines if line),
        tuple((label, clip(one_line(text), _LONG)) for label, text in facts if text),
        (),
        incident_link(incident, page),
    )


def list_text(
    title: str, titles: Sequence[str], severity: str, page: str, *, is_resolved: bool = False, more: int = 0
) -> AlertText:
    """Return a message that lists incidents by their titles. more: number of incidents without a title."""
    rest = len(titles[_LINES:]) + more
    lines = (*titles[:_LINES], *([f"and {rest:,} more"] if rest else ()))
    return AlertText(title, severity, is_resolved, "", "", (), lines, f"{page}/")


def plain_text(text: AlertText) -> str:
    """Return a message as plain text."""
    parts = [text.title, text.summary, text.error, "\n".join(f"- {line}" for line in text.lines)]
    facts = "\n".join(f"{label}: {value}" for label, value in text.facts)
    return "\n\n".join(part for part in (*parts, facts, text.link) if part)


def incident_link(incident: ReportedIncident, page: str) -> str:
    """Return the address of the page about the first failed run, else about the subject."""
    subject = incident.subject
    named = f"{page}/{subject.kind}?{urlencode({'namespace': subject.namespace, 'name': subject.name})}"
    if incident.failures:
        named = f"{page}/run?{urlencode({'id': incident.failures[0].id})}"
    return named if len(named) <= _LONG and subject.kind in ("dataset", "job") else f"{page}/"


def is_about(contract: BrokenContract, incident: ReportedIncident) -> bool:
    """Return whether a contract is broken by a run of an incident, or is about one of its datasets."""
    runs = {each.id for each in incident.failures}
    subject = incident.subject
    datasets = {each.dataset for each in incident.affected} | ({subject.name} if subject.kind == "dataset" else set())
    return contract.dataset in datasets or any(each.run in runs or each.dataset in datasets for each in contract.breaks)


def clip(text: str, most: int) -> str:
    """Return a text of at most `most` characters; a longer one ends with an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"


def one_line(text: str) -> str:
    """Return a text without line breaks and control characters, which could forge headers or lines of a message."""
    return escape_control_characters(" ".join(text.split()))


def _dataset_name(each: AffectedDataset) -> str:
    return each.display_name if each.display_name is not UNSET and each.display_name else each.dataset


def _contract_text(contract: BrokenContract) -> str:
    return f"{contract.file} ({contract.breaks[0].message})" if contract.breaks else contract.file


def _names(names: Sequence[str], count: int) -> str:
    more = f" and {count - _NAMES} more" if count > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more if names else ""
