"""Checks that ask questions, of a running server or of a data folder on which nothing runs."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from headwater.api import routes, sink_routes
from headwater.common.counts import count_with_noun
from headwater.common.durations import CLOCK_SLACK_S
from headwater.events.times import iso_time, parse_time
from headwater.intake.receiver.paths import WRONG_PATH, wrong_path_refusal
from headwater.operations.diagnosis.finding import Check, Finding
from headwater.questions import definitions
from headwater.questions.declaring import Question

LAG_S = 60.0
"""Maximum normal delay in seconds: `doctor` reports answers that are further behind the acknowledged events."""

_LIMIT = "1000"
_SERVICES = ("log", "lake", "parser", "index", "snapshot")
_WELL = ("ok", "not asked", "not here")


class Ask(Protocol):
    """A function that asks a question. It raises HeadwaterError if there is no answer."""

    def __call__(self, question: Question, asked: Mapping[str, str], /) -> Any:
        """Return the answer as JSON values. asked: query parameters."""


def asking_once(ask: Ask) -> Ask:
    """Return a function that asks each question once; `access` and `freshness` share an answer."""
    answers: dict[tuple[str, frozenset[tuple[str, str]]], Any] = {}

    def asked_once(question: Question, asked: Mapping[str, str], /) -> Any:
        key = question.path, frozenset(asked.items())
        if key not in answers:
            answers[key] = ask(question, asked)
        return answers[key]

    return asked_once


def server_checks(url: str, ready: Mapping[str, Any], versions: tuple[str | None, str], ask: Ask) -> list[Check]:
    """Return the checks that need a running server.

    ready: the answer of `/health/ready`. versions: the version of the server, None if it is unknown, and the version
    of this command.
    """
    return [
        Check("access", lambda: _access_findings(ask)),
        Check("services", lambda: _stopped_services(url, ready)),
        Check("version", lambda: _version_findings(url, *versions)),
        Check("clock", lambda: _clock_findings(url, ask)),
    ]


def event_checks(where: str, since_us: int, ask: Ask) -> list[Check]:
    """Return the checks of events and answers.

    where: the options that name the server or folder, for remedies. since_us: start of the period for rejected events
    and refused requests (us, UTC).
    """
    since = iso_time(since_us) or ""
    return [
        Check("freshness", lambda: _freshness_findings(ask)),
        Check("audit", lambda: _audit_findings(where, ask)),
        Check("rejected", lambda: _rejected_findings(where, since, ask)),
        Check("index", lambda: _set_aside_findings(where, ask)),
        Check("refused", lambda: _refused_findings(where, since, ask)),
        Check("sinks", lambda: _sink_findings(where, ask)),
        Check("rules", lambda: _rules_findings(ask)),
    ]


def _stopped_services(url: str, ready: Mapping[str, Any]) -> Iterator[Finding]:
    components = ready.get("components") or {}
    for name in _SERVICES:
        why = str(components.get(name, "ok"))
        if why not in _WELL and not why.startswith("the oldest event"):  # the check `freshness` reports a lag
            yield Finding(
                "services", "problem", f"The {name} of {url} has stopped: {why}",
                "It continues by itself once the cause is gone. See Troubleshooting in "
                "docs/how-to/platform-operator/operations.md.",
            )  # fmt: skip


def _access_findings(ask: Ask) -> Iterator[Finding]:
    """Ask any question, so that a missing key is reported once, as a finding of the check `access`."""
    ask(routes.freshness, {})
    yield from ()


def _version_findings(url: str, server: str | None, own: str) -> Iterator[Finding]:
    if server not in (None, own):
        yield Finding(
            "version", "warning", f"{url} runs Headwater {server}, but this command is {own}.",
            f"Install the same version: pip install 'headwater[server]=={server}'.",
        )  # fmt: skip


def _clock_findings(url: str, ask: Ask) -> Iterator[Finding]:
    before = time.time()
    server_us = parse_time(ask(routes.overview, {"buckets": "1"})["window"]["to"])[0] or 0
    after, server = time.time(), server_us / 1e6
    behind, ahead = before - server, server - after
    if max(behind, ahead) > CLOCK_SLACK_S:
        which, difference = ("behind", behind) if behind > ahead else ("ahead of", ahead)
        yield Finding(
            "clock", "warning", f"The clock of {url} is {difference:.0f} s {which} the clock of this machine.",
            "Synchronize both with a time server (NTP): times of events and of receipt are compared with each other.",
        )  # fmt: skip


def _freshness_findings(ask: Ask) -> Iterator[Finding]:
    found = ask(routes.freshness, {})
    if found["seconds"] > LAG_S:
        place = "log for the parser" if found["log"] >= found["bronze"] else "lake for the index"
        yield Finding(
            "freshness", "warning", f"Answers are {found['seconds']:.0f} s behind: {found['events']} events wait in "
            f"the {place}.", "Wait if the number falls. Otherwise read the log lines of that process.",
        )  # fmt: skip


def _audit_findings(where: str, ask: Ask) -> Iterator[Finding]:
    found = ask(routes.audit, {})
    if not found["balanced"]:
        counts = {name: found[name] for name in ("received", "stored", "duplicates", "rejected", "pending", "lost")}
        why = found["trouble"] or ", ".join(f"{count} {name}" for name, count in counts.items()) + "."
        yield Finding(
            "audit", "problem", f"The audit does not balance: {why}",
            f"Run `headwater audit {where}`, and see docs/how-to/platform-operator/operations.md, Troubleshooting.",
        )  # fmt: skip


def _rejected_findings(where: str, since: str, ask: Ask) -> Iterator[Finding]:
    found = ask(routes.rejected, {"since": since, "limit": _LIMIT})
    counts, newest = Counter(each["reason"] for each in found["items"]), dict[str, str]()
    for each in found["items"]:
        newest.setdefault(each["reason"], each["message"] or each["field"] or "no message")
    more = f" (of the newest {_LIMIT})" if found["truncated"] else ""
    for reason, count in counts.items():
        yield Finding(
            "rejected", "problem",
            f"Headwater could not store {count_with_noun(count, 'acknowledged event')}{more}, reason `{reason}`, most "
            f"recently: {newest[reason]}",
            f"Run `headwater rejected {where} --since {since}`. Once the cause is gone, add --retry.",
        )  # fmt: skip


def _set_aside_findings(where: str, ask: Ask) -> Iterator[Finding]:
    found = ask(routes.set_aside, {"limit": "1"})
    if found["totalCount"]:
        yield Finding(
            "index", "problem",
            f"The index could not process {count_with_noun(found['totalCount'], 'stored event')}, most recently: "
            f"{found['items'][0]['message']}",
            f"Run `headwater rejected --index {where}`.",
        )  # fmt: skip


def _refused_findings(where: str, since: str, ask: Ask) -> Iterator[Finding]:
    found = ask(routes.refused, {"since": since, "limit": _LIMIT})
    counts, newest = Counter[tuple[str, str]](), dict[tuple[str, str], Any]()
    for each in found["items"]:
        kind = each["reason"], each["route"]
        counts[kind] += each["count"]
        newest.setdefault(kind, each)
    for (reason, route), count in counts.items():
        each = newest[reason, route]
        by = f" by {each['user_agent']}" if each["user_agent"] else ""
        if reason == WRONG_PATH:
            yield Finding(
                "refused", "problem",
                f"{count_with_noun(count, 'request')}{by} posted events to the wrong path {route}.",
                wrong_path_refusal().fix,
            )  # fmt: skip
        else:
            yield Finding(
                "refused", "warning",
                f"Headwater refused {count_with_noun(count, 'request')}{by} to {route}, "
                f"reason `{reason}`: {each['message']}",
                f"Correct the producer. `headwater refused {where} --since {since}` lists each kind of request.",
            )  # fmt: skip


def _sink_findings(where: str, ask: Ask) -> Iterator[Finding]:
    found = ask(sink_routes.sinks, {})
    if found["problem"]:
        yield Finding("sinks", "problem", found["problem"], "Correct the sinks file; no restart is needed.")
    for each in found["items"]:
        name = each["name"]
        if each["trouble"]:
            yield Finding(
                "sinks", "problem", f"The sink {name} waits: {each['trouble']}",
                f"Correct this, then run `headwater sinks check {name} {where}`. The sink continues by itself.",
            )  # fmt: skip
        elif each["state"] == "paused":
            yield Finding(
                "sinks", "warning", f"The sink {name} is paused.", f"Run `headwater sinks resume {name} {where}`."
            )
        if each["failed"]:
            yield Finding(
                "sinks", "problem",
                f"The target of the sink {name} rejected {count_with_noun(each['failed'], 'event')}.",
                f"Run `headwater sinks failures {name} {where}`, then `headwater sinks redrive {name} {where}`.",
            )  # fmt: skip


def _rules_findings(ask: Ask) -> Iterator[Finding]:
    for problem in ask(definitions.rules, {})["problems"]:
        yield Finding("rules", "problem", problem, "Correct the file; no restart is needed. Earlier rules apply.")
