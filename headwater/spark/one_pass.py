"""Allow one pass at a time on a lake. A second pass ends immediately and changes nothing.

On a disk, the lock is a lock of the operating system, which releases it when the process ends. On other storage, the
lock is a lease: a numbered file, which the pass renews until it ends. The storage's clock measures the age of a lease,
so clocks of different machines are never compared. The answers are correct even without the lock (see `versions`). The
lock prevents a pass from reverting the commits of another pass that is still running.
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
"""Seconds after which a lease expires if its pass does not renew it."""

log = logging.getLogger(__name__)


@contextmanager
def hold_lake_lock(spark: SparkSession, lake: str, work: str = REFRESH_FOLDER) -> Iterator[None]:
    """Hold the lock of a lake. Raises LakeUnavailable if another pass holds it.

    work: folder that contains the lock, relative to the lake. Each kind of work has its own folder and its own lock.
    """
    place = StoragePlace(spark, f"{lake}/{work}")
    with _locked(Path(place.local), lake) if place.local else hold_lease(place, lake):
        yield


@contextmanager
def _locked(folder: Path, lake: str) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LakeUnavailable(_refusal_message(lake)) from None
        yield


@contextmanager
def hold_lease(place: StoragePlace, lake: str, *, lease_s: float = LEASE_S) -> Iterator[None]:
    """Hold a lease in the folder `place`. Raises LakeUnavailable if another pass holds a lease that has not expired.

    The file with the highest number is the valid lease. It expires `lease_s` seconds after its last renewal.
    """
    files = lease_names(place)
    if files and _age_s(place, files[-1]) < lease_s:
        raise LakeUnavailable(_refusal_message(lake))
    own_lease = f"{int(files[-1] if files else '0') + 1:010d}"
    if not place.create(own_lease, _holder()):
        raise LakeUnavailable(_refusal_message(lake))
    for old in files:
        place.remove(old)
    ended = threading.Event()
    renewal = threading.Thread(target=_renew, args=(place, own_lease, ended, lease_s / 4), daemon=True)
    renewal.start()
    try:
        yield
    finally:
        ended.set()
        renewal.join()
        place.remove(own_lease)


def lease_names(place: StoragePlace) -> list[str]:
    """Return the names of the lease files. The last of them is the valid lease."""
    return sorted(name for name in place.names() if name.isdigit())


def _age_s(place: StoragePlace, name: str) -> float:
    """Return the seconds since a file was last written, by the storage's clock."""
    probe = f"now-{uuid4().hex}"
    place.write(probe, _holder())
    try:
        return place.modified_s(probe) - place.modified_s(name)
    finally:
        place.remove(probe)


def _renew(place: StoragePlace, name: str, ended: threading.Event, every_s: float) -> None:
    while not ended.wait(every_s):
        try:
            place.write(name, _holder())
        except Py4JJavaError as error:
            log.warning("Could not renew the lease of this pass: %s", str(error).splitlines()[0])


def _holder() -> str:
    return f"{socket.gethostname()} {os.getpid()}\n"


def _refusal_message(lake: str) -> str:
    return f"Another pass is running in {lake}. Nothing was changed. Wait until that pass has ended and try again."
