"""What redaction costs: false positives and ns a byte of `suspicious`, us an event of `redact`, growth on hostile text.

usage: python bench/redaction.py EVENTS.ndjson...
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from headwater.events.redaction import redact, suspicious
from headwater.events.redaction_rules import redact_text

HOSTILE = [
    "://u:", "jdbc:oracle:thin:a/", "token1", "password ", "password='", 'password="', '\\"token', "eyJ", "--a--token ",
    "account.key.", "user x identified ", "set('", "-----BEGIN ", "/a_token=", "A", "==", "Bearer ", "sig=", "password=",
]  # fmt: skip


def main(files: Sequence[str]) -> None:
    """Print a line per file, the dirty walk, and the hostile texts at two sizes."""
    for file in files:
        report_file(Path(file))
    for seed in HOSTILE:
        small, large = (cpu(lambda n=n: redact_text((seed * n)[:n])) for n in (250_000, 1_000_000))  # type: ignore[misc]
        print(f"hostile {seed!r:24} 250 KB {small * 1e3:7.1f} ms   1 MB {large * 1e3:7.1f} ms   x{large / small:.1f}")


def report_file(file: Path) -> None:
    lines = [line for line in file.read_bytes().splitlines() if line.strip()]
    size = sum(map(len, lines))
    flagged = [line for line, dirty in zip(lines, suspicious(lines), strict=True) if dirty]
    changed = sum(redact(value) is not value for value in map(json.loads, lines))
    scan = median(cpu(lambda: suspicious(lines)) for _ in range(5))
    values = [json.loads(line) for line in lines]
    walk = median(cpu(lambda: [redact(value) for value in values]) for _ in range(5))
    print(
        f"{file.name}: {len(lines)} events, mean {size // len(lines)} B, suspicious {len(flagged)}, changed {changed}, "
        f"scan {scan / size * 1e9:.2f} ns/B, walk {walk / len(lines) * 1e6:.0f} us/event"
    )


def cpu(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


if __name__ == "__main__":
    main(sys.argv[1:])
