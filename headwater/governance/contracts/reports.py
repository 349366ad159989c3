"""Format the results of a check for CI systems: JUnit XML and SARIF 2.1.0."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from headwater.governance.contracts.breaks import Break

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class CheckedFile(NamedTuple):
    """A checked file: path, text, number of promises, and the broken promises."""

    path: str
    text: str
    promises: int
    breaks: Sequence[Break]

    def broken_promises(self, *, strict: bool = False) -> Sequence[Break]:
        """Return the broken promises, without warnings unless `strict` is true."""
        return [each for each in self.breaks if strict or not each.is_warning]


def break_line(found: Break) -> str:
    """Format a broken promise and the run that broke it as one line."""
    by = " ".join(
        filter(
            None,
            (
                f"job {found.responsible_run.job.name}" if found.responsible_run.job else "",
                f"run {found.responsible_run.run}" if found.responsible_run.run else "",
            ),
        )
    )
    when = f"since {found.responsible_run.time}" if found.responsible_run.time else ""
    kind = f"warning {found.kind}" if found.is_warning else found.kind
    return f"{kind}: {found.place}: {found.message}" + (
        f" ({', '.join(filter(None, (by, when)))})" if by or when else ""
    )


def junit_text(files: Iterable[CheckedFile]) -> str:
    """Return the result as JUnit XML: one suite per file, with one case per broken promise, or one passed case."""
    root = Element("testsuites", name="headwater contract check")
    for each in files:
        suite = SubElement(
            root, "testsuite", name=_escape_xml(each.path), tests=str(len(each.breaks) or 1),
            failures=str(len(each.broken_promises())),
            errors="0", skipped="0",
        )  # fmt: skip
        if not each.breaks:
            SubElement(suite, "testcase", classname=_escape_xml(each.path), name="kept")
        for found in each.breaks:
            case = SubElement(
                suite, "testcase", classname=_escape_xml(each.path), name=_escape_xml(f"{found.kind} {found.place}")
            )
            if found.is_warning:
                SubElement(case, "system-out").text = _escape_xml(break_line(found))
                continue
            failure = SubElement(case, "failure", type=found.kind, message=_escape_xml(found.message))
            failure.text = _escape_xml(break_line(found))
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def sarif_text(files: Iterable[CheckedFile], version: str) -> str:
    """Return the result as SARIF; each finding points to the line of the file that names the column.

    version: version of Headwater.
    """
    results, kinds = [], dict[str, None]()
    for each in files:
        for found in each.breaks:
            kinds[found.kind] = None
            place = {"artifactLocation": {"uri": each.path}, "region": {"startLine": _line_number(each.text, found)}}
            results.append(
                {
                    "ruleId": found.kind, "level": "warning" if found.is_warning else "error",
                    "message": {"text": break_line(found)},
                    "locations": [{"physicalLocation": place}],
                }
            )  # fmt: skip
    driver = {
        "name": "headwater contract check", "version": version,
        "rules": [{"id": kind, "shortDescription": {"text": kind.replace(".", " ")}} for kind in kinds],
    }  # fmt: skip
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _line_number(text: str, found: Break) -> int:
    for number, line in enumerate(text.splitlines(), 1):
        if found.column and re.fullmatch(rf"\s*-?\s*name:\s*['\"]?{re.escape(found.column)}['\"]?\s*", line):
            return number
    return 1


def _escape_xml(text: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
