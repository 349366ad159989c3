"""Settings to real clients: the only place that knows where things lie.

What an `open_*` function opens is imported by it: a receiver must not load Delta, nor a laptop an Azure SDK.
"""

import contextlib
import fcntl
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from headwater.errors import WrongSetting
from headwater.eventlog import Claims, Log, LogReader, Readers
from headwater.eventlog.claims import FolderClaims
from headwater.lake.ownership import ROUTES
from headwater.settings import Settings

if TYPE_CHECKING:
    from headwater.eventlog.event_hub_clients import HubAddress
    from headwater.eventlog.kafka_clients import KafkaAddress
    from headwater.eventlog.sqlite import SqliteLog
    from headwater.fabric.rest import Fabric
    from headwater.index.home import IndexHome
    from headwater.index.lens import Lenses
    from headwater.index.rules_files import RulesFiles
    from headwater.index.search import Search
    from headwater.lake.bronze import Bronze

FORMAT = 1
OWNER = ROUTES["parser"]

STORAGE_OPTIONS = {"timeout": "15s", "connect_timeout": "3s", "max_retries": "3", "retry_timeout": "10s"}
"""Of a request to the lake, 25 s at most: delta-rs by itself would take minutes. `lake_options` goes before."""

CLAIM_BYTES = {"sqlite": 1 << 20, "event_hub": 200 << 10, "kafka": 900 << 10}
"""Largest body each kind of log takes by itself; a hub of the basic tier takes 256 KB with all that belongs to it.

Kafka's default (message.max.bytes) is 1 MiB.
"""


def prepare_folder(settings: Settings) -> Path:
    """Create the data folder if it is missing; raises WrongSetting if it cannot be used by this version."""
    folder = _data(settings)
    try:
        for name in ("", "log", "index", "run"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        marker = folder / "format"
        if not marker.exists():
            marker.write_text(f"{FORMAT}\n")
        found = marker.read_text().strip()
        if not os.access(folder / "run", os.W_OK):
            raise PermissionError(13, "Permission denied", str(folder / "run"))
    except OSError as error:
        raise WrongSetting(
            f"Cannot use the data folder {folder}: {error.strerror}. Choose another with --data."
        ) from error
    if not found.isdigit() or int(found) > FORMAT:
        raise WrongSetting(
            f"The data folder {folder} has format {found[:20]}, this Headwater writes format {FORMAT}. "
            "Use the newer Headwater that made it, or another folder with --data."
        )
    return folder


def existing_folder(settings: Settings) -> Path:
    """Return the data folder for a command that only reads; raises WrongSetting if there is none.

    Where `lake` names another place, the folder need not be there before: it is made, for the index.
    """
    if settings.lake:
        return prepare_folder(settings)
    folder = _data(settings)
    if not (folder / "format").exists():
        raise WrongSetting(f"No Headwater data in {folder}. Name the folder with --data, or start `headwater up`.")
    return folder


def _data(settings: Settings) -> Path:
    return settings.data.expanduser().resolve()


@contextmanager
def folder_lock(folder: Path, name: str, *, wait_s: float) -> Iterator[None]:
    """Hold one role on a data folder; raises WrongSetting if another process holds it after `wait_s` seconds."""
    path = folder / "run" / f"{name}.lock"
    with path.open("a+") as file:
        deadline = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise WrongSetting(
                        f"Another `headwater` uses {folder} ({name}). Stop it, or choose another folder with --data."
                    ) from None
                time.sleep(0.05)
        yield


def open_log(settings: Settings, folder: Path, claims: Claims) -> Log:
    """Open the log for writing; the caller holds the lock `serve`. A service that is down is no error yet."""
    match settings.log:
        case "sqlite":
            return _open_sqlite(settings, folder, claims)
        case "event_hub":
            from headwater.eventlog.event_hub import EventHubLog

            return EventHubLog(
                _hub_address(settings),
                queued_bytes=settings.queued_bytes,
                forget_claims=lambda: _forget_old(claims, settings.retain_hours),
            )
        case "kafka":
            from headwater.eventlog.kafka import KafkaLog

            address, largest = kafka_address(settings), claim_limit(settings)
            return KafkaLog(
                address,
                queued_bytes=settings.queued_bytes,
                largest_bytes=largest,
                forget_claims=lambda: _forget_old(claims, settings.retain_hours),
            )


def import_log(settings: Settings) -> None:
    """Import what `open_log` needs, 0.3 s of an Azure SDK and as much of its identities, before somebody waits for it.

    Raises WrongSetting for a connection string that is none.
    """
    if settings.log == "kafka":
        import headwater.eventlog.kafka
    if settings.log == "event_hub":
        import headwater.eventlog.event_hub  # noqa: F401
        from headwater.eventlog.event_hub_clients import import_identity

        _hub_address(settings).host  # noqa: B018 - reads the connection string
        if settings.hub_namespace:
            import_identity()


def open_log_readers(settings: Settings, folder: Path) -> Sequence[LogReader]:
    """Open the log for reading, one reader per partition; raises LogUnavailable if a service does not name them."""
    return log_readers(settings, folder)()


def log_readers(settings: Settings, folder: Path) -> Readers:
    """Return what opens the log for reading, for a process that asks again and again."""
    match settings.log:
        case "sqlite":
            from headwater.eventlog.sqlite_reader import SqliteLogReader

            readers = [SqliteLogReader(folder / "log")]
            return lambda: readers
        case "event_hub":
            from headwater.eventlog.event_hub_reader import HubReaders

            return HubReaders(_hub_address(settings), settings.hub_consumer_group)
        case "kafka":
            from headwater.eventlog.kafka_reader import KafkaReaders

            return KafkaReaders(kafka_address(settings))


def is_log_made(settings: Settings, folder: Path) -> bool:
    """Tell whether the log is there; a log on our own disk is made by `serve`, which may still be starting."""
    from headwater.eventlog.segments import segment_files

    return settings.log != "sqlite" or bool(segment_files(folder / "log"))


def begin_log(settings: Settings, folder: Path) -> Sequence[LogReader]:
    """Let a log on our own disk, made if it is missing, go by another incarnation; a service's log has its own.

    Nothing may have the log open. Returns its readers.
    """
    if settings.log == "sqlite":
        from headwater.eventlog.segments import rename
        from headwater.eventlog.sqlite import SqliteLog

        SqliteLog(folder / "log").close()
        rename(folder / "log")
    return open_log_readers(settings, folder)


def claim_limit(settings: Settings) -> int:
    """Return the largest body, in bytes, that goes into the log itself."""
    return settings.claim_bytes or CLAIM_BYTES[settings.log]


def open_claims(settings: Settings) -> Claims:
    """Open the place of large bodies; raises WrongSetting if its address is none."""
    if settings.claims_url is None:
        return FolderClaims(claims_folder(settings))
    from headwater.eventlog.blob_claims import BlobClaims

    return BlobClaims(settings.claims_url, _revealed(settings.claims_options), settings.identity_client_id)


def claims_folder(settings: Settings) -> Path:
    """Return the folder of large bodies, where they are kept in one."""
    return _data(settings) / "claims"


def _forget_old(claims: object, hours: float) -> None:
    """Let large bodies of our own folder go by age; a container has a rule of its own for that."""
    if isinstance(claims, FolderClaims):
        claims.forget_older(hours)


def _hub_address(settings: Settings) -> "HubAddress":
    from headwater.eventlog.event_hub_clients import HubAddress

    connection = settings.hub_connection
    return HubAddress(
        settings.hub_name,
        settings.hub_namespace,
        connection.get_secret_value() if connection else None,
        settings.identity_client_id,
    )


def kafka_address(settings: Settings) -> "KafkaAddress":
    """Return the address of Kafka; raises WrongSetting where its client is not installed."""
    if find_spec("confluent_kafka") is None:
        raise WrongSetting("The Python package confluent-kafka is missing. Run `pip install headwater[kafka]`.")
    from headwater.eventlog.kafka_clients import KafkaAddress

    options = {name: value.get_secret_value() for name, value in settings.kafka_options.items()}
    return KafkaAddress(settings.kafka_servers or "", settings.kafka_topic, settings.kafka_group, options)


def _open_sqlite(settings: Settings, folder: Path, claims: Claims) -> "SqliteLog":
    """Open the log of one machine; large bodies of no record go: their requests were never acknowledged.

    Only from our own folder: a container may be shared, and deletes by age.
    """
    from headwater.eventlog.sqlite import Limits, SqliteLog
    from headwater.eventlog.sqlite_reader import SqliteLogReader

    limits = Limits(
        settings.segment_bytes, settings.queued_bytes, settings.min_free_bytes,
        settings.retain_hours, settings.retain_bytes,
    )  # fmt: skip
    if not isinstance(claims, FolderClaims):
        return SqliteLog(folder / "log", limits)
    log = SqliteLog(folder / "log", limits, on_remove=claims.remove)
    reader = SqliteLogReader(folder / "log")
    claims.keep_only(reader.claims())
    reader.close()
    return log


def open_index_home(folder: Path) -> "IndexHome":
    """Open the folder of the index."""
    from headwater.index.home import IndexHome

    return IndexHome(folder / "index")


def open_lenses(settings: Settings, folder: Path) -> "Lenses":
    """Open lineage for questions from the command line; the index is brought up to date unless a process does that."""
    from headwater.index.lens import Lenses

    rules = open_rules(settings)
    _catch_up(settings, folder, rules)
    return Lenses(open_index_home(folder), rules)


def open_search(settings: Settings, folder: Path) -> "Search":
    """Open search for the command line; like `open_lenses`."""
    from headwater.index.search import Search

    rules = open_rules(settings)
    _catch_up(settings, folder, rules)
    return Search(open_index_home(folder), rules)


def _catch_up(settings: Settings, folder: Path, rules: "RulesFiles") -> None:
    from headwater.index.follow import IndexFollower

    with contextlib.suppress(WrongSetting), folder_lock(folder, "index", wait_s=0):
        follower = IndexFollower(open_index_home(folder), open_bronze(settings))
        while follower.step(rules.current().names):
            pass
        follower.close()


def open_bronze(settings: Settings) -> "Bronze":
    """Open the bronze tables, in a folder or at an address."""
    from headwater.lake.bronze import Bronze

    lake, options = lake_place(settings)
    return Bronze(f"{lake}/bronze", options)


def lake_place(settings: Settings) -> tuple[str, dict[str, str]]:
    """Return the folder or address of the lake, without a slash at its end, and the storage options it takes."""
    if is_lake_remote(settings):
        options = {**STORAGE_OPTIONS, **_identity(settings), **_revealed(settings.lake_options)}
        return str(settings.lake).rstrip("/"), options
    return str(lake_folder(settings)), {}


def lake_folder(settings: Settings) -> Path:
    """Return the folder of the lake, where it is on this machine."""
    return Path(settings.lake or _data(settings) / "lake").expanduser().resolve()


def is_lake_remote(settings: Settings) -> bool:
    """Tell whether each look at the lake is a request that costs money and time."""
    return "://" in (settings.lake or "")


def _identity(settings: Settings) -> dict[str, str]:
    """Return the storage options of a managed identity; delta-rs does not find the endpoint of Azure Functions itself.

    Keys as `object_store::azure::AzureConfigKey` documents them; the endpoint's IDENTITY_HEADER it does read.
    """
    found = {"msi_endpoint": os.environ.get("IDENTITY_ENDPOINT"), "client_id": settings.identity_client_id}
    return {name: value for name, value in found.items() if value}


def _revealed(options: Mapping[str, SecretStr]) -> dict[str, str]:
    return {name: value.get_secret_value() for name, value in options.items()}


def open_fabric(settings: Settings, api: str) -> "Fabric":
    """Open Fabric's REST API as whoever `az login`, the environment or a managed identity says we are."""
    if find_spec("azure.identity") is None:
        raise WrongSetting("The Python package azure-identity is missing. Run `pip install headwater[azure]`.")
    from azure.identity import DefaultAzureCredential

    from headwater.fabric.rest import Fabric

    logging.getLogger("azure.identity").setLevel(logging.CRITICAL)  # our one line says what is wrong
    credential = DefaultAzureCredential(managed_identity_client_id=settings.identity_client_id)
    return Fabric(api, lambda scope: credential.get_token(scope).token)


def open_rules(settings: Settings) -> "RulesFiles":
    """Open the folder of the user's rules; raises WrongSetting if a folder that was named is not there."""
    from headwater.index.rules_files import RulesFiles

    folder = (settings.rules or settings.data / "rules").expanduser().resolve()
    if settings.rules is not None and not folder.is_dir():
        raise WrongSetting(f"No folder {folder}, which the setting `rules` names. Create it or correct the setting.")
    return RulesFiles(folder)
