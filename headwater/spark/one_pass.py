"""One pass at a time on a lake: who comes while another is at work goes away again, and has changed nothing.

On a disk, the system holds the lock and releases it when the process ends. Other storage has no such
thing: there a numbered file is a lease, written anew while its pass lives. How long ago that was is told by the
storage's own clock, so that no two machines' clocks are compared. That answers are right does not rest on this (see
`versions`): it keeps a pass from taking back what another one, still at work, has written.
"""

import fcntl
import logging
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headwater.common.errors import LakeUnavailable
from headwater.spark.delta.storage_place import StoragePlace
from headwater.tables.last_pass import REFRESH_FOLDER

LEASE_S = 60.0
"""A pass that has not been heard of for so long has ended."""

log = logging.getLogger(__name__)


@contextmanager
def alone(spark: SparkSession, lake: str, work: str = REFRESH_FOLDER) -> Iterator[None]:
    """Be the only pass over a lake; raises LakeUnavailable where there is one already.

    work: a folder of the lake that stands for what is done there.
    """
    place = StoragePlace(spark, f"{lake}/{work}")
    with _locked(Path(place.local), lake) if place.local else leased(place, lake):
        yield


@contextmanager
def _locked(folder: Path, lake: str) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LakeUnavailable(_refusal(lake)) from None
        yield


@contextmanager
def leased(place: StoragePlace, lake: str, *, lease_s: float = LEASE_S) -> Iterator[None]:
    """Hold a lease: the file with the highest number. It ends by itself `lease_s` after its pass did."""
    files = leases(place)
    if files and _age_s(place, files[-1]) < lease_s:
        raise LakeUnavailable(_refusal(lake))
    mine = f"{int(files[-1] if files else '0') + 1:010d}"
    if not place.create(mine, _holder()):
        raise LakeUnavailable(_refusal(lake))
    for old in files:
        place.remove(old)
    ended = threading.Event()
    beating = threading.Thread(target=_beat, args=(place, mine, ended, lease_s / 4), daemon=True)
    beating.start()
    try:
        yield
    finally:
        ended.set()
        beating.join()
        place.remove(mine)


def leases(place: StoragePlace) -> list[str]:
    """Return the names of the leases, the one that counts last."""
    return sorted(name for name in place.names() if name.isdigit())


def _age_s(place: StoragePlace, name: str) -> float:
    """Return for how long a file has not been written, by the storage's clock."""
    probe = f"now-{uuid4().hex}"
    place.write(probe, _holder())
    try:
        return place.changed_s(probe) - place.changed_s(name)
    finally:
        place.remove(probe)


def _beat(place: StoragePlace, name: str, ended: threading.Event, every_s: float) -> None:
    while not ended.wait(every_s):
        try:
            place.write(name, _holder())
        except Py4JJavaError as error:
            log.warning("The lease of this pass could not be prolonged: %s", str(error).splitlines()[0])


def _holder() -> str:
    return f"{socket.gethostname()} {os.getpid()}\n"


def _refusal(lake: str) -> str:
    return f"Another pass works in {lake}. Nothing was changed; run it again when that has ended."
