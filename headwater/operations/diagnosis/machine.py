"""Checks of this machine: packages, Java, the data folder, its disk and the port."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from headwater.api.routes import installed_routes
from headwater.common.errors import WrongSetting
from headwater.intake.event_log.log_registry import LOGS
from headwater.operations.diagnosis.finding import Check, Finding
from headwater.operations.local.up import bind_port
from headwater.operations.runtime.data_folder import (
    MARKER,
    check_format,
    check_writable,
    data_folder_path,
    exposed_paths,
    folder_lock,
)
from headwater.operations.runtime.troubles import service_troubles
from headwater.operations.settings import Settings
from headwater.sinks.interface.target_registry import TARGETS

_JAVA_OF_SPARK = {"3": (8, 11, 17), "4": (17, 21)}
"""Java versions that Spark supports, by major version of Spark (Spark's documentation, Overview)."""

_JAVA_TIMEOUT_S = 10.0


def machine_checks() -> list[Check]:
    """Return the checks that need no data folder."""
    return [Check("packages", _package_findings), Check("java", _java_findings)]


def folder_checks(settings: Settings) -> list[Check]:
    """Return the checks of an existing data folder."""
    folder = data_folder_path(settings)
    return [
        Check("data folder", lambda: _folder_findings(folder)),
        Check("permissions", lambda: _permission_findings(folder)),
        Check("disk", lambda: _disk_findings(settings, folder)),
    ]


def checks_without_server(settings: Settings) -> list[Check]:
    """Return the checks for a machine on which no server responds at the address of the settings."""
    return [
        Check("port", lambda: _port_findings(settings)),
        Check("running", lambda: _running_findings(settings)),
    ]


def has_data(settings: Settings) -> bool:
    """Return whether the data folder of the settings exists."""
    return (data_folder_path(settings) / MARKER).exists()


def installed_version(package: str) -> str | None:
    """Return the version of an installed package, None if it is missing."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _package_findings() -> Iterator[Finding]:
    for problem in (*LOGS.installed().problems, *TARGETS.installed().problems, *installed_routes().problems):
        yield Finding("packages", "warning", problem, "Update the package, or uninstall it.")


def _java_findings() -> Iterator[Finding]:
    spark = installed_version("pyspark")
    if spark is None:
        return
    supported = _JAVA_OF_SPARK.get(spark.partition(".")[0], ())
    wanted = " or ".join(map(str, supported))
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    found = java and _java_version(java)
    if not found:
        place = f"JAVA_HOME={home} has no working Java" if home else "there is no `java` in PATH, and no JAVA_HOME"
        yield Finding(
            "java", "warning", f"PySpark {spark} is installed, but {place}. `headwater spark` cannot start.",
            f"Install a JDK {wanted} and set JAVA_HOME to it, or uninstall pyspark.",
        )  # fmt: skip
    elif supported and found not in supported:
        yield Finding(
            "java", "warning", f"{java} is Java {found}, which PySpark {spark} does not support.",
            f"Install a JDK {wanted} and set JAVA_HOME to it.",
        )  # fmt: skip


def _java_version(java: str) -> int | None:
    """Return the major version of a Java: 8 for `1.8.0_392`, 17 for `17.0.9`. None if it does not run."""
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=_JAVA_TIMEOUT_S, check=False)
        if found := re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout):
            return int(found[1])
    return None


def _folder_findings(folder: Path) -> Iterator[Finding]:
    check_format(folder)
    try:
        check_writable(folder)
    except OSError as error:
        yield Finding(
            "data folder", "problem", f"This account cannot write to {folder}: {error.strerror}.",
            "Run Headwater as the account that owns the folder, or choose another folder with --data.",
        )  # fmt: skip


def _permission_findings(folder: Path) -> Iterator[Finding]:
    exposed = exposed_paths(folder)
    if exposed:
        yield Finding(
            "permissions", "warning",
            f"Other accounts have access to {', '.join(map(str, exposed))}, which may contain raw bodies.",
            f"Start `headwater up`, which removes the access, or run `chmod -R go= {folder}`.",
        )  # fmt: skip


def _disk_findings(settings: Settings, folder: Path) -> Iterator[Finding]:
    if settings.log != "sqlite":
        return
    from headwater.intake.event_log.sqlite_log import FreeDisk  # noqa: PLC0415 - imports SQLite

    if trouble := FreeDisk(folder, settings.min_free_bytes).unavailability_reason():
        yield Finding("disk", "problem", trouble, "Producers get 503 until there is space.")
        return
    used = sum(path.stat().st_size for path in (folder / "log").glob("*") if path.is_file())
    free, growth = shutil.disk_usage(folder).free, max(0, settings.retain_bytes - used)
    if free - growth < settings.min_free_bytes:
        yield Finding(
            "disk", "warning",
            f"{free >> 20} MiB are free at {folder}, but the log may grow by {growth >> 20} MiB.",
            "Free some space, or lower the setting `retain_bytes`.",
        )  # fmt: skip


def _port_findings(settings: Settings) -> Iterator[Finding]:
    bind_port(settings).close()
    yield from ()


def _running_findings(settings: Settings) -> Iterator[Finding]:
    folder = data_folder_path(settings)
    for service, why in service_troubles(folder).items():
        yield Finding("running", "problem", f"The service {service} had stopped: {why}", "Correct this, then start it.")
    try:
        with folder_lock(folder, "up", wait_s=0):
            pass
    except WrongSetting:
        yield Finding(
            "running", "problem",
            f"`headwater up` uses {folder}, but does not respond at {settings.host}:{settings.port}.",
            "Pass its URL with --server. If it hangs, restart it and read its log.",
        )  # fmt: skip
        return
    yield Finding(
        "running", "warning", f"Headwater is not running on {folder}, so producers cannot send events.",
        f"Start `headwater up --data {folder}`.",
    )  # fmt: skip


EMPTY = Check(
    "data folder",
    lambda: [
        Finding(
            "data folder", "warning", "There is no data folder and no running Headwater.",
            "Start `headwater up`, or name a folder with --data or a server with --server.",
        )
    ],
)  # fmt: skip
"""The check for a machine on which Headwater has not started yet."""
