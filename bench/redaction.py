"""Measure redaction: recall on the corpus of secret formats, false alarms, growth on the worst texts, and CPU cost.

usage: python -m bench.redaction [compare | recall | alarms | growth | cost]

`compare` prints recall, false alarms and cost of the current rules and of the rules of commit 8ded0218.
"""

import gzip
import html
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Any

import botocore

from bench.generate import generate
from headwater.events.redaction import may_need_redaction, redact_value
from headwater.events.redaction_rules import RULES, redact_text
from tests.fixtures.secrets.corpus import load_formats
from tests.fixtures.secrets.worst_cases import LARGEST_RATIO, growth, repeated, worst_cases
from tests.support.data.planted_secrets import event

SAMPLES = Path("tests/fixtures/events")
SPEC = Path("headwater/events/spec")
MEGABYTE = 1_000_000
SECRETS = ["password=x ", "token=a;", "--password x ", "'token':'b'", "<pwd>a</", "sig=/", "eyJ@", "://u:a@"]
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MARKUP = re.compile(r"<[^>]+>")


BEFORE = "8ded0218"
HARMLESS = Path("tests/fixtures/secrets/harmless.ndjson")


def compare() -> None:
    """Print the figures of the rules of commit `BEFORE`, then of the current rules, each in a separate process."""
    root = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", BEFORE, "headwater"], capture_output=True, check=True).stdout
        with tarfile.open(fileobj=BytesIO(archive)) as packed:
            packed.extractall(folder, filter="data")
        for name, place in ((f"commit {BEFORE}", folder), ("current rules", str(root))):
            print(f"{name}:", flush=True)
            code = (
                f"import sys; sys.path[:0] = [{place!r}, {str(root)!r}]; from bench.redaction import figures; figures()"
            )
            subprocess.run([sys.executable, "-c", code], check=True)


def figures() -> None:
    """Print recall on the corpus, false alarms on recorded events and harmless facets, and the CPU time of the scan."""
    formats, samples = load_formats(), _samples()
    found = sum(not format_.survives for format_ in formats)
    print(f"  recall: {found} of {len(formats)} formats, {found / len(formats):.1%}")
    for name, lines in (("harmless facets", HARMLESS.read_bytes().splitlines()), ("sample events", samples)):
        changed = [value for value in map(json.loads, lines) if redact_value(value) is not value]
        print(
            f"  false alarms, {name}: {len(changed)} of {len(lines)} changed, "
            f"{sum(may_need_redaction(lines))} searched in detail"
        )
    scan = min(cpu(lambda: may_need_redaction(samples)) for _ in range(15))
    print(f"  scan: {scan / sum(map(len, samples)) * 1e9:.2f} ns/B, {scan / len(samples) * 1e6:.1f} us per event")
    values = [with_secret(json.loads(line)) for line in samples]
    walk = min(cpu(lambda: [redact_value(value) for value in values]) for _ in range(5))
    print(f"  redaction of an event with a secret: {walk / len(values) * 1e6:.0f} us")


def _samples() -> list[bytes]:
    return [line for file in sorted(SAMPLES.glob("*.ndjson")) for line in file.read_bytes().splitlines() if line]


def recall() -> None:
    """Print how many formats are found, separately for the half used for writing rules and the half set aside."""
    formats = load_formats()
    for half, set_aside in (("used for writing rules", False), ("set aside", True)):
        asked = [format_ for format_ in formats if format_.set_aside is set_aside]
        survive = [format_.name for format_ in asked if format_.survives]
        found = len(asked) - len(survive)
        print(f"recall, half {half}: {found} of {len(asked)} formats, {found / len(asked):.1%}")
        print(*(f"  survives: {name}" for name in survive), sep="\n")


def alarms() -> None:
    """Print how many sample events, generated events and column descriptions are changed, and the changed places."""
    for name, lines in (("sample events", _samples()), ("generated events", [*generate(3000, 8), *generate(2000, 2)])):
        changed = [value for value in map(json.loads, lines) if redact_value(value) is not value]
        print(f"{name}: {len(changed)} of {len(lines)} changed, {sum(may_need_redaction(lines))} searched in detail")
    columns = sorted({*_columns()})
    changed_columns = [
        column for column in columns if redact_value(_event_with_column(*column)) != _event_with_column(*column)
    ]
    words = {description for _, description in columns}
    print(f"columns: {len({name for name, _ in columns})} names, {len(words)} descriptions")
    print(f"changed columns: {len(changed_columns)} of {len(columns)}")
    for text in sorted({description for _, description in changed_columns}):
        at = redact_text(text, prose=True).find("[REDACTED]")
        print(f"  changed: … {redact_text(text, prose=True)[max(0, at - 60) : at + 10]}")


def growths() -> None:
    """Print the rules whose cost grows faster than their input, then the CPU time of all rules on the worst 1 MB."""
    texts = [format_.text for format_ in load_formats()]
    slowest: list[tuple[float, str]] = []
    steep, count = [], 0
    for rule in RULES:
        found = [text for text in texts if rule.apply(text.encode()) != text.encode()]
        for case in worst_cases(rule, found, 60):
            count += 1
            steep += [(rule.name, case)] if growth(rule.apply, case) > LARGEST_RATIO else []
            spent = cpu(partial(rule.apply, repeated(case, 40_000)))
            slowest.append((spent, repeated(case, MEGABYTE).decode()))
    print(f"growth: {count} texts of {len(RULES)} rules; growth above {LARGEST_RATIO} per doubling: {steep}")
    worst = [text for _, text in sorted(slowest, key=lambda found: found[0])[-20:]]
    worst += [(secret * MEGABYTE)[:MEGABYTE] for secret in SECRETS]
    spent, text = max((cpu(partial(redact_text, text)), text) for text in worst)
    print(f"all rules, 1 MB: at most {spent:.2f} s of CPU, {text[:60]!r}")
    dashes = f"-- password=abc{'-' * 300_000}"
    print(f"-- password=abc with 300,000 dashes: {cpu(partial(redact_text, dashes)):.3f} s of CPU")


def cost() -> None:
    """Print the cost of the scan per byte, and of redacting an event with a secret."""
    for file in sorted(SAMPLES.glob("*.ndjson")):
        lines = [line for line in file.read_bytes().splitlines() if line.strip()]
        size = sum(map(len, lines))
        scan = median(cpu(lambda lines=lines: may_need_redaction(lines)) for _ in range(9))  # type: ignore[misc]
        values = [with_secret(json.loads(line)) for line in lines]
        walk = median(cpu(lambda values=values: [redact_value(v) for v in values]) for _ in range(9))  # type: ignore[misc]
        print(f"{file.name}: scan {scan / size * 1e9:.2f} ns/B, redaction of a secret {walk / len(lines) * 1e6:.0f} us")


def with_secret(event: dict[str, Any]) -> dict[str, Any]:
    """Return the event with a connection string in a custom property."""
    return {**event, "custom": {"spark.url": "jdbc:postgresql://db:5432/x?user=etl&password=" + "hunter2"}}


def _columns() -> Iterator[tuple[str, str]]:
    """Yield field names and descriptions of OpenLineage's facets and of AWS's service APIs.

    Each AWS field is yielded in camel case and in snake case.
    """
    for file in SPEC.rglob("*.json"):
        yield from _fields(json.loads(file.read_text()))
    for file in Path(botocore.__path__[0]).glob("data/*/*/service-2.json.gz"):
        for shape in json.loads(gzip.decompress(file.read_bytes()))["shapes"].values():
            for name, field in shape.get("members", {}).items():
                description = html.unescape(_MARKUP.sub("", field.get("documentation", "")))[:600]
                yield name, description
                yield _CAMEL.sub("_", name).lower(), description


def _fields(schema: Any) -> Iterator[tuple[str, str]]:
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, field in properties.items() if isinstance(properties, dict) else ():
        yield name, str(field.get("description", "")) if isinstance(field, dict) else ""
    for value in inner:
        yield from _fields(value)


def _event_with_column(name: str, description: str) -> dict[str, Any]:
    """Return an event that contains the column name in every place for column names and descriptions."""
    facets = {
        "schema": {"fields": [{"name": name, "type": "string", "description": description}]},
        "columnLineage": {"fields": {name: {"inputFields": [{"namespace": "db", "name": "t", "field": name}]}}},
        "documentation": {"description": description},
        "dataQualityMetrics": {"columnMetrics": {name: {"nullCount": 1}}},
        "tags": {"tags": [{"key": name, "value": "pii", "source": "x", "field": name}]},
    }
    made = event(inputs=[{"namespace": "db", "name": name, "facets": facets}])
    made["job"]["name"] = f"load.{name}"
    return made


def cpu(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


PARTS: dict[str, Callable[[], None]] = {
    "compare": compare,
    "recall": recall,
    "alarms": alarms,
    "growth": growths,
    "cost": cost,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
