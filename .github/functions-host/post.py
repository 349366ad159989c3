"""Posts events to a Functions host and waits until the lake has each once; standard library alone.

`python post.py http://127.0.0.1:7071 1000`; status 1 with the audit if they are not there after five minutes.
"""

import json
import sys
import time
import urllib.error
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

KEY = "only-in-this-job"
PATIENCE_S = 300
TRIES = 5


def asked(address: str, body: dict[str, Any] | None = None) -> Any:
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    data = json.dumps(body).encode() if body else None
    with urllib.request.urlopen(urllib.request.Request(address, data, headers), timeout=60) as answer:
        return json.loads(answer.read() or b"{}")


def event(number: int) -> dict[str, Any]:
    return {
        "eventType": "COMPLETE",
        "eventTime": datetime.now(UTC).isoformat(),
        "run": {"runId": str(uuid.uuid4())},
        "job": {"namespace": "functions-host", "name": f"job-{number % 10}"},
        "inputs": [],
        "outputs": [],
        "producer": "https://github.com/headwater",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    }


def posted(base: str, number: int) -> None:
    """Post one event as a producer does: what was not acknowledged is sent again."""
    body = event(number)
    for attempt in range(TRIES):
        try:
            asked(f"{base}/api/v1/lineage", body)
            return
        except (urllib.error.URLError, TimeoutError):
            if attempt == TRIES - 1:
                raise
            time.sleep(2**attempt)


def main(base: str, count: int) -> int:
    began = time.monotonic()
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda number: posted(base, number), range(count)))
    print(f"{count} events acknowledged in {time.monotonic() - began:.1f} s")
    audit: dict[str, Any] = {}
    while time.monotonic() - began < PATIENCE_S:
        try:
            audit = asked(f"{base}/api/headwater/v1/audit")
        except urllib.error.HTTPError as error:
            audit = {"status": error.code, "said": error.read().decode(errors="replace")[:500]}
        if audit.get("stored") == count and audit.get("balanced"):
            print(f"in the lake after {time.monotonic() - began:.1f} s: {json.dumps(audit)}")
            return 0
        time.sleep(2)
    print(f"not all there after {PATIENCE_S} s: {json.dumps(audit)}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
