"""The sinks that the settings name: their file, what they keep in the lake, where their secrets come from."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.errors import WrongSetting
from headwater.runtime.folders import data_folder, folder_lock
from headwater.runtime.station_troubles import station_troubles
from headwater.runtime.storage import lake_place, open_bronze, revealed
from headwater.settings import Settings

if TYPE_CHECKING:
    from headwater.sinks.connecting.sink_secrets import Secrets
    from headwater.sinks.contract.sinks_file import SinksText
    from headwater.sinks.operating.replay_span import ReplaySpan
    from headwater.sinks.operating.sink_desk import SinkDesk
    from headwater.sinks.operating.sink_replay import Replay
    from headwater.sinks.running.sink_ledger import Ledger

_KEY = "KEY"
"""What a key that was given by command is called among a replay's secrets."""


def sinks_path(settings: Settings) -> Path | None:
    """Return the file of the sinks, there or not, None where it lies at an address.

    Raises WrongSetting if one that was named is not there.
    """
    if settings.sinks is None:
        return data_folder(settings) / "sinks.yml"
    if "://" in settings.sinks:
        return None
    path = Path(settings.sinks).expanduser().resolve()
    if not path.is_file():
        raise WrongSetting(f"No file {path}, which the setting `sinks` names. Create it or correct the setting.")
    return path


def open_sinks_text(settings: Settings, look_every_s: float = 0.0) -> "SinksText":
    """Return where the file of the sinks is read, with what opens the lake if it lies at an address.

    look_every_s: least time between two requests for one at an address.
    """
    from headwater.runtime.lake_file import LakeFile
    from headwater.sinks.contract.sinks_file import FileOnDisk

    path = sinks_path(settings)
    if path:
        return FileOnDisk(path)
    options, client_id = revealed(settings.lake_options), settings.identity_client_id
    return LakeFile(str(settings.sinks), options, client_id, look_every_s)


def open_ledger(settings: Settings) -> "Ledger":
    """Open what sinks keep in the lake."""
    from headwater.sinks.running.sink_ledger import Ledger

    lake, options = lake_place(settings)
    return Ledger(f"{lake}/sinks", options)


def open_secrets(settings: Settings) -> "Secrets":
    """Open where secrets lie: the environment, and a key vault as this machine's identity."""
    from headwater.sinks.connecting.sink_secrets import Secrets, entra_token

    return Secrets(entra_token(settings.identity_client_id))


def open_sink_desk(settings: Settings, folder: Path) -> "SinkDesk":
    """Return where the sinks of a data folder are asked about and ordered."""
    from headwater.sinks.operating.sink_desk import SinkDesk

    return SinkDesk(
        partial(open_sinks_text, settings), partial(open_bronze, settings), partial(open_ledger, settings),
        partial(open_secrets, settings), partial(_status, folder), partial(station_troubles, folder),
    )  # fmt: skip


def _status(folder: Path) -> dict[str, Any]:
    """Return what the process `sinks` says of itself, nothing where none runs or it has not said anything yet."""
    try:
        with folder_lock(folder, "sinks", wait_s=0):
            return {}
    except WrongSetting:
        return _read(folder / "run" / "sinks.json")


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
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
    """Return a replay of what the lake has of a span: to a sink of the file, or to an address.

    At an address a Marquez is recognised by its API; any other one is a plain OpenLineage API.
    rate: most events a second; batch: events of a request; key: what the address wants to be shown;
    patience_s: for how long to ask an address that answers neither way.
    Raises WrongSetting, NotConfigured, Retry.
    """
    from headwater.sinks.connecting.sink_secrets import Secrets, entra_token
    from headwater.sinks.operating.replay_span import address_options, recognized_options
    from headwater.sinks.operating.sink_replay import Replay

    if "://" in to:
        secrets = Secrets(entra_token(None), {_KEY: key or ""})
        plain = address_options(to, batch, {"env": _KEY} if key else None)
        options = recognized_options(plain, secrets.reveal, patience_s)
    else:
        options, secrets = open_sink_desk(settings, folder).sink(to).options, open_secrets(settings)
    if options.type in ("file", "delta"):
        raise WrongSetting(
            f"A replay cannot send to {to!r}: a sink of type {options.type} keeps what it writes by places in the "
            f"lake, in their order. Use `headwater sinks reset {to} --to …`."
        )
    return Replay(
        span.of(options, rate), span, bronze=open_bronze(settings), ledger=open_ledger(settings), secrets=secrets
    )
