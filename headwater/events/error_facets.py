"""Extracts errors from facets: failed runs, failed extraction of lineage, and failed tests.

OpenLineage defines `errorMessage`. Spark's listener sends `spark.exception` instead; others send custom facets.

Printed stack traces are split into their exceptions, root cause first. Java prints the last exception first, followed
by `Caused by:`; Python prints the first exception first. PySpark puts the whole Python trace into the message of a Java
exception, and Spark repeats it in every enclosing exception.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from headwater.events.decode import decode
from headwater.events.rule_facets import text_at

_MOST = 20
"""Maximum number of exceptions per chain."""

_CAUSED = "Caused by: "
_TRACEBACK = "Traceback (most recent call last):"
_AIRFLOW_MODULE = re.compile(r"\bunusual_prefix_[0-9a-f]{40}_(?=\w)")
"""Airflow imports the file of a DAG under a module name with this prefix, which says nothing to readers."""
_FRAME = re.compile(r"\s*(?:at \S+\(|\.\.\. \d+ (?:more|common frames omitted))")
_NEXT = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)


class TracedException(NamedTuple):
    """One exception of a stack trace.

    what: the message line. trace: the other lines of the trace.
    """

    what: str
    trace: tuple[str, ...]

    @property
    def is_python(self) -> bool:
        """Whether this is a Python exception. The last lines of a Python trace are closest to the `raise`."""
        return self.trace[:1] == (_TRACEBACK,)


def exceptions_in_trace(text: str) -> list[TracedException]:
    """Return the exceptions of a printed stack trace, root cause first.

    Returns an empty list if the text has no stack frames.
    """
    lines = text.splitlines()
    if not any(_TRACEBACK in line or _FRAME.match(line) for line in lines):
        return []
    begins = [0, *(at for at, line in enumerate(lines) if at and line.startswith(_CAUSED)), len(lines)]
    links = [lines[one:other] for one, other in pairwise(begins)]
    found = (each for link in reversed(links) for each in _exceptions_in_link(link))
    return list(dict.fromkeys(found))[:_MOST]


def _exceptions_in_link(link: Sequence[str]) -> Iterator[TracedException]:
    """Yield the Python exceptions inside one Java exception of the chain, then the Java exception."""
    frames = next((at for at, line in enumerate(link) if _FRAME.match(line)), len(link))
    python = next((at for at, line in enumerate(link[:frames]) if _TRACEBACK in line), None)
    if python is None:
        yield _to_traced_exception(link[0].removeprefix(_CAUSED), link[1:])
        return
    yield from _python_exceptions([link[python].partition(_TRACEBACK)[1], *link[python + 1 : frames]])
    around = [*link[:python], link[python].partition(_TRACEBACK)[0]]
    if any(line.strip() for line in around) or frames < len(link):
        yield _to_traced_exception(around[0].removeprefix(_CAUSED).rstrip(": "), [*around[1:], *link[frames:]])


def _python_exceptions(lines: Sequence[str]) -> Iterator[TracedException]:
    begins = [at for at, line in enumerate(lines) if line == _TRACEBACK]
    for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True):
        own = [line for line in lines[begin:end] if line not in _NEXT]
        message_line = next((at for at, line in enumerate(own) if at and line.strip() and not line.startswith(" ")), 0)
        yield _to_traced_exception(own[message_line], [line for at, line in enumerate(own) if at != message_line])


def _to_traced_exception(what: str, trace: Sequence[str]) -> TracedException:
    while trace and not trace[-1].strip():
        trace = trace[:-1]
    return TracedException(_AIRFLOW_MODULE.sub("", what.strip()), tuple(trace))


ASSERTIONS = "dataQualityAssertions"

_KNOWN = ("errorMessage", "spark.exception")
"""Names of known error facets, which come first in results.

Error facets with other names are recognised by their members.
"""
_DBT = re.compile(r"/tree/(\d+)\.(\d+)[^/]*/integration/dbt\b")
_DBT_COUNTS = (1, 47)
"""The first version of dbt-ol that sends the number of failed rows as `actual`, if dbt executed the test."""

_LINE = 500
"""Maximum length of the one-line reason of a failure (characters)."""

_MESSAGES = ("message", "errorMessage", "error", "exception", "reason")
_TRACES = ("stackTrace", "stacktrace", "stack_trace", "traceback", "exception")
_WORDS = ("error", "exception", "failure")
"""Words in the name of a facet that mark its `message` as an error."""


class FacetError(NamedTuple):
    """An error from one facet.

    of: whether the run failed, or only the extraction of its lineage. facet: name of the facet. causes: exceptions of
    the stack trace, root cause first. task: for `extraction`, the task that has no lineage because of this error.
    """

    of: Literal["run", "extraction"]
    facet: str
    message: str
    causes: list[TracedException]
    task: str | None = None


class FacetTest(NamedTuple):
    """The result of a test from a facet.

    facet: name of the facet. success: whether the test passed. column: the tested column, if the facet names one.
    """

    facet: str
    success: bool
    name: str
    column: str | None
    severity: str | None
    description: str | None
    expected: str | None
    actual: str | None


def errors_in(facets: Mapping[str, Any]) -> list[FacetError]:
    """Return the errors in the decoded facets of a run.

    Errors of the run come before errors of the extraction. Within both, the facets of OpenLineage and Spark come first,
    then other facets by name.
    """
    found = [
        each for name, facet in facets.items() if isinstance(facet, dict) for each in _errors_in_facet(name, facet)
    ]
    rank = {name: at for at, name in enumerate(_KNOWN)}
    return sorted(found, key=lambda each: (each.of != "run", rank.get(each.facet, len(rank)), each.facet))


def test_results(facet: str, value: Any, producer: str) -> list[FacetTest]:
    """Return the results in the run facet `test`, or in an assertions facet of a dataset. Skipped tests are left out.

    facet: name of the facet; value: the decoded facet. producer: the producer of the event.
    """
    listed = (value.get("tests") or value.get("assertions") or ()) if isinstance(value, dict) else ()
    version = _DBT.search(producer)
    needs_actual = version is not None and (int(version[1]), int(version[2])) >= _DBT_COUNTS
    return [
        FacetTest(
            facet, success,
            text_at(each, "name") or text_at(each, "assertion") or text_at(each, "type") or "unnamed",
            *(text_at(each, name) for name in ("column", "severity", "description", "expected", "actual")),
        )
        for each in (listed if isinstance(listed, list) else ())
        if isinstance(each, dict) and (success := _success_of(each, needs_actual)) is not None
    ]  # fmt: skip


def _success_of(test: Mapping[str, Any], needs_actual: bool) -> bool | None:
    """Return whether a test passed, or None if it was not executed.

    needs_actual: whether a failure without `actual` means that the test was not executed. dbt-ol sends
    `success: false` for a test that dbt skipped, or whose query failed.
    """
    success, status = test.get("success"), test.get("status")
    if success is False or status == "fail":
        return None if needs_actual and status is None and test.get("actual") is None else False
    return True if success is True or status == "pass" else None


def failed_tests(facet: str, value: Any, producer: str = "") -> list[FacetTest]:
    """Return the failed tests in the run facet `test`, or in an assertions facet of a dataset.

    facet: name of the facet; value: the decoded facet. producer: the producer of the event.
    """
    return [each for each in test_results(facet, value, producer) if not each.success]


class FailureError(NamedTuple):
    """The root cause of a failed run.

    message: its first line. frame: the line of the stack trace that is closest to the failure, or None without a trace.
    """

    message: str
    frame: str | None


def failure_error(facets: Mapping[str, bytes]) -> FailureError | None:
    """Return why a run failed: the root cause, or else a failed test; None if the facets have neither.

    facets: maps the name of each run facet to its raw text.
    """
    facet_values = {name: decode(text) for name, text in facets.items()}
    error = next((each for each in errors_in(facet_values) if each.of == "run"), None)
    if error is not None:
        cause = error.causes[0] if error.causes else None
        line = cause.what if cause else error.message.strip().partition("\n")[0]
        return FailureError(line[:_LINE], _closest_frame(cause) if cause else None) if line else None
    test = next(iter(failed_tests("test", facet_values.get("test"))), None)
    return FailureError(f"test {test.name} failed"[:_LINE], None) if test else None


def failure_reason(facets: Mapping[str, bytes]) -> str | None:
    """Return in one line why a run failed, or None if the facets do not say it. See `failure_error`."""
    found = failure_error(facets)
    return found.message if found else None


def _closest_frame(cause: TracedException) -> str | None:
    """Return the stack frame at which an exception was raised: the first one in Java, the last one in Python."""
    begins = ('File "',) if cause.is_python else ("at ",)
    frames = [line.strip()[:_LINE] for line in cause.trace if line.strip().startswith(begins)]
    return (frames[-1] if cause.is_python else frames[0]) if frames else None


def _errors_in_facet(name: str, facet: Mapping[str, Any]) -> Iterator[FacetError]:
    if name == "extractionError":
        listed = facet.get("errors")
        for each in listed if isinstance(listed, list) else ():
            message, trace = text_at(each, "errorMessage"), text_at(each, "stackTrace")
            if message or trace:
                yield _to_facet_error("extraction", name, message, trace, text_at(each, "task"))
        return
    inner: Mapping[str, Any] = next((facet[word] for word in _MESSAGES if isinstance(facet.get(word), dict)), {})
    traces = [text for of in (facet, inner) for word in _TRACES if (text := text_at(of, word))]
    named = any(word in name.casefold() for word in _WORDS)
    words = _MESSAGES if traces or inner or named else ("errorMessage", "error", "exception")
    messages = [text for of in (facet, inner) for word in words if (text := text_at(of, word))]
    if messages or traces:
        yield _to_facet_error("run", name, messages[0] if messages else None, traces[0] if traces else None)


def _to_facet_error(
    of: Literal["run", "extraction"], facet: str, message: str | None, trace: str | None, task: str | None = None
) -> FacetError:
    found = exceptions_in_trace(trace or "") or exceptions_in_trace(message or "")
    shown = _AIRFLOW_MODULE.sub("", message or (trace or "").partition("\n")[0])
    return FacetError(of, facet, shown, found, task)
