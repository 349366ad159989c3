"""Sending events from files to a running Headwater, in batches, with what became of each."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
from rich.progress import Progress

from headwater.errors import Retry, WrongSetting
from headwater.events.event_files import read_event_texts

BATCH = 500
BATCH_BYTES = 8 << 20


def send_files(files: Sequence[Path], url: str, key: str | None, *, progress: bool) -> dict[str, Any]:
    """Send files of events (one a line, one document, or an array; plain or gzip), in order.

    Returns `sent`, `accepted`, `refused` (with a reason each, the first 20) and `failed` (no answer).
    """
    return send_bodies(
        (event.text for path in files for event in read_event_texts(path) if event.text), url, key, progress=progress
    )


def send_bodies(bodies: Iterable[bytes], url: str, key: str | None, *, progress: bool) -> dict[str, Any]:
    """Send events in batches. Raises Retry if nothing answers at `url`, WrongSetting if the key is not taken."""
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})
    outcome: dict[str, Any] = {"sent": 0, "accepted": 0, "refused": 0, "failed": 0, "reasons": []}
    with httpx.Client(base_url=url, headers=headers, timeout=30) as client, Progress(disable=not progress) as bar:
        task = bar.add_task("sending", total=None)
        for batch in _batches(bodies):
            _send(client, batch, outcome)
            bar.update(task, completed=outcome["sent"])
    return outcome


def _send(client: httpx.Client, batch: list[bytes], outcome: dict[str, Any]) -> None:
    try:
        answer = client.post("/api/v1/lineage/batch", content=b"[" + b",".join(batch) + b"]")
    except httpx.TransportError as error:
        raise Retry(
            f"No answer from {client.base_url}: {error}. Start `headwater up`, or name it with --to."
        ) from error
    if answer.status_code in (401, 403):
        raise WrongSetting(f"{answer.json()['error']} {answer.json()['fix']} Give it with --key or HEADWATER_KEY.")
    outcome["sent"] += len(batch)
    if answer.status_code == 400 and len(batch) > 1:
        outcome["sent"] -= len(batch)
        for body in batch:  # one line that is no JSON spoils its batch: find it
            _send(client, [body], outcome)
    elif answer.status_code == 204:
        outcome["accepted"] += len(batch)
    elif answer.status_code == 200:
        failed = answer.json()["failed_events"]
        outcome["accepted"] += len(batch) - len(failed)
        _note(outcome, "refused", [item["reason"] for item in failed])
    elif answer.status_code < 500:
        _note(outcome, "refused", [answer.json()["error"]] * len(batch))
    else:
        _note(outcome, "failed", [f"status {answer.status_code}: {answer.text[:200]}"] * len(batch))


def _note(outcome: dict[str, Any], kind: str, reasons: list[str]) -> None:
    outcome[kind] += len(reasons)
    outcome["reasons"] = (outcome["reasons"] + reasons)[:20]


def _batches(bodies: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for body in bodies:
        if batch and (len(batch) >= BATCH or size + len(body) > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(body)
        size += len(body)
    if batch:
        yield batch
