"""Post 1,000 events to a receiver in a container, wait until the API has them, and ask one question.

Needs nothing of ours to run: `python post.py`.
"""

import json
import time
import urllib.error
import urllib.request
import uuid

RECEIVER, API = "http://127.0.0.1:5000", "http://127.0.0.1:5001"
KEY = "a-key-of-the-workflow"
EVENTS = 1_000
_DEADLINE_S = 300.0


def ask(url: str, body: bytes | None = None) -> tuple[int, bytes]:
    """Send a request; returns status and body, 0 where nobody answers yet."""
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError:
        return 0, b""


def event(number: int) -> bytes:
    """Encode a run that writes `target.a` from `source.a`; each tenth is too large for Kafka's default."""
    field = {"inputFields": [{"namespace": "ci", "name": "source", "field": "a"}]}
    facets = {"schema": {"fields": [{"name": "a"}]}, "columnLineage": {"fields": {"a": field}}}
    return json.dumps(
        {
            "eventType": "COMPLETE",
            "eventTime": "2026-03-01T12:00:00Z",
            "producer": "https://headwater.test",
            "run": {"runId": str(uuid.UUID(int=number + 1))},
            "job": {"namespace": "ci", "name": f"job-{number % 20}"},
            "inputs": [{"namespace": "ci", "name": "source"}],
            "outputs": [{"namespace": "ci", "name": "target", "facets": facets}],
            "padding": "x" * (1_200_000 if number % 100 == 0 else 0),
        }
    ).encode()


def until(url: str, is_it: str, holds: object) -> bytes:
    """Ask until a member of the answer is what it shall be."""
    deadline = time.monotonic() + _DEADLINE_S
    while True:
        status, body = ask(url)
        if status == 200 and json.loads(body).get(is_it) == holds:
            return body
        if time.monotonic() > deadline:
            raise SystemExit(f"{url}: {status} {body[:500]!r}")
        time.sleep(1)


def main() -> None:
    """Post, wait, ask."""
    until(f"{RECEIVER}/health/ready", "ready", holds=True)
    for number in range(EVENTS):
        deadline = time.monotonic() + _DEADLINE_S
        while ask(f"{RECEIVER}/api/v1/lineage", event(number))[0] != 200:
            if time.monotonic() > deadline:
                raise SystemExit(f"Event {number} is not taken.")
            time.sleep(0.5)
    until(f"{API}/api/headwater/v1/audit", "stored", EVENTS)
    until(f"{API}/health/ready", "ready", holds=True)
    status, body = ask(f"{API}/api/headwater/v1/impact?namespace=ci&dataset=source&column=a")
    if status != 200 or b"target" not in body:
        raise SystemExit(f"impact: {status} {body[:500]!r}")
    print(f"{EVENTS} events were acknowledged, stored once each, and are answered from.")


if __name__ == "__main__":
    main()
