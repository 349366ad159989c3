"""Send events from files to a running Headwater in batches, and report the outcome."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.progress import Progress

from headwater.events.event_files import read_event_texts
from headwater.intake.files.batch_sending import BATCH, BATCH_BYTES, BatchSender, open_receiver

PATIENCE_S = 10.0
_REASONS = 20


def send_files(files: Sequence[Path], url: str, key: str | None, *, progress: bool) -> dict[str, Any]:
    """Send files of events (one per line, one document, or an array; plain or gzip), in order.

    Returns `sent`, `accepted` and `refused`, with the first 20 reasons.
    """
    return send_bodies(
        (event.text for path in files for event in read_event_texts(path) if event.text), url, key, progress=progress
    )


def send_bodies(bodies: Iterable[bytes], url: str, key: str | None, *, progress: bool) -> dict[str, Any]:
    """Send events in batches. Raises Retry if the server does not respond, WrongSetting if it rejects the key."""
    outcome: dict[str, Any] = {"sent": 0, "accepted": 0, "refused": 0, "reasons": []}
    with open_receiver(url, key) as ask, Progress(disable=not progress) as bar:
        sender = BatchSender(ask, patience_s=PATIENCE_S)
        task = bar.add_task("sending", total=None)
        for batch in _batches(bodies):
            refused = sender.send(batch)
            outcome["sent"] += len(batch)
            outcome["accepted"] += len(batch) - len(refused)
            outcome["refused"] += len(refused)
            outcome["reasons"] = [*outcome["reasons"], *refused.values()][:_REASONS]
            bar.update(task, completed=outcome["sent"])
    return outcome


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
