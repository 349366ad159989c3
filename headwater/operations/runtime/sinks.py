"""Open the sinks of the settings: the sinks file, the tables of the sinks in the lake, and the secrets."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.common.errors import WrongSetting
from headwater.operations.runtime.data_folder import data_folder_path, folder_lock
from headwater.operations.runtime.storage import lake_root_and_options, open_bronze, resolve_secrets
from headwater.operations.runtime.troubles import service_troubles
from headwater.operations.settings import Settings

if TYPE_CHECKING:
    from headwater.sinks.connecting.secrets import Secrets
    from headwater.sinks.control.replay import Replay
    from headwater.sinks.control.replay_span import ReplaySpan
    from headwater.sinks.control.service import SinkService
    from headwater.sinks.interface.sinks_file import SinksSource
    from headwater.sinks.running.ledger import SinkLedger


STATUS_FILE = "sinks.json"
"""File in the folder `run` with the status of each sink; it exists while the process `sinks` runs."""

_KEY = "KEY"
"""Name of the key from the command line among the secrets of a replay."""


def sinks_path(settings: Settings) -> Path | None:
    """Return the path of the sinks file, None if the file is remote. The default file may not exist.

    Raises WrongSetting if the setting `sinks` names a missing file.
    """
    if settings.sinks is None:
        return data_folder_path(settings) / "sinks.yml"
    if "://" in settings.sinks:
        return None
    path = Path(settings.sinks).expanduser().resolve()
    if not path.is_file():
        raise WrongSetting(f"The setting `sinks` names a missing file: {path}. Create it or correct the setting.")
    return path


def open_sinks_text(settings: Settings, min_interval_s: float = 0.0) -> "SinksSource":
    """Return the source of the sinks file. A remote file is read with the credentials of the lake.

    min_interval_s: minimum time between two requests for a remote file.
    """
    from headwater.operations.runtime.azure_files import LakeFile
    from headwater.sinks.interface.sinks_file import LocalSinksFile

    path = sinks_path(settings)
    if path:
        return LocalSinksFile(path)
    options, client_id = resolve_secrets(settings.lake_options), settings.identity_client_id
    return LakeFile(str(settings.sinks), options, client_id, min_interval_s)


def open_ledger(settings: Settings) -> "SinkLedger":
    """Open the tables of the sinks in the lake: positions and dead letters."""
    from headwater.sinks.running.ledger import SinkLedger

    lake, options = lake_root_and_options(settings)
    return SinkLedger(f"{lake}/sinks", options)


def open_secrets(settings: Settings) -> "Secrets":
    """Return the source of secrets: the environment, and a key vault with this machine's identity."""
    from headwater.sinks.connecting.secrets import Secrets, entra_token_source

    return Secrets(entra_token_source(settings.identity_client_id))


def open_sink_service(settings: Settings, folder: Path) -> "SinkService":
    """Return the service that queries and controls the sinks of a data folder."""
    from headwater.sinks.control.service import SinkService

    return SinkService(
        partial(open_sinks_text, settings), partial(open_bronze, settings), partial(open_ledger, settings),
        partial(open_secrets, settings), partial(_read_sinks_status, folder), partial(service_troubles, folder),
    )  # fmt: skip


def _read_sinks_status(folder: Path) -> dict[str, Any]:
    """Return the status that the process `sinks` has written, empty if it does not run or has not written one yet."""
    try:
        with folder_lock(folder, "sinks", wait_s=0):
            return {}
    except WrongSetting:
        try:
            found: dict[str, Any] = json.loads((folder / "run" / STATUS_FILE).read_text())
        except FileNotFoundError:
            return {}
        return found


def open_replay(
    settings: Settings,
    folder: Path,
    span: "ReplaySpan",
    to: str,
    *,
    rate: float | None,
    batch: int,
    key: str | None,
    patience_s: float = 30.0,
) -> "Replay":
    """Return a replay of the events in a span to a sink or a URL.

    to: name of a sink in the sinks file, or a URL. A Marquez server at the URL is recognised by its API; any other
    server is used as a plain OpenLineage API. rate: maximum events per second. batch: events per request. key: API key
    for the URL. patience_s: seconds to repeat the request that recognises Marquez if its response is inconclusive.
    Raises WrongSetting, NotConfigured or Retry.
    """
    from headwater.sinks.connecting.secrets import Secrets, entra_token_source
    from headwater.sinks.control.replay import Replay
    from headwater.sinks.control.replay_span import address_options, detect_marquez_options

    if "://" in to:
        secrets = Secrets(entra_token_source(None), {_KEY: key or ""})
        plain = address_options(to, batch, {"env": _KEY} if key else None)
        options = detect_marquez_options(plain, secrets.reveal, patience_s)
    else:
        options, secrets = open_sink_service(settings, folder).sink(to).options, open_secrets(settings)
    if options.type in ("file", "delta"):
        raise WrongSetting(
            f"A replay cannot send to {to!r}: a sink of type {options.type} stores events by their positions in the "
            f"lake. Use `headwater sinks reset {to} --to …`."
        )
    return Replay(
        span.replay_sink(options, rate),
        span,
        bronze=open_bronze(settings),
        ledger=open_ledger(settings),
        secrets=secrets,
    )
