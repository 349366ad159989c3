"""The settings, read from `headwater.toml`, environment variables `HEADWATER_*` and the command line, in this order."""

import ipaddress
import json
import os
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from inspect import get_annotations
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model

from headwater.auth.access import Key, Secret
from headwater.common.environment import PREFIX, read_environment, variable_name
from headwater.common.errors import WrongSetting
from headwater.common.storage_options import check_options
from headwater.events.cpu_budget import RECORD_CPU_S
from headwater.intake.event_log.log_kind import MOST_HOURS
from headwater.intake.event_log.log_registry import LOGS, AllLogSettings, log_kind

FILE = "headwater.toml"

_ABFSS = re.compile(r"abfss://[^/@?#]+@[\w-]+\.dfs\.(core\.windows\.net|fabric\.microsoft\.com)(/[^?#]*)?")
_BUCKET = re.compile(r"(s3|gs)://[a-z0-9][a-z0-9._-]+(/[^?#]*)?")


def _check_retention_days(days: int) -> int:
    if 0 < days < 3:
        raise ValueError("it must be 0, or at least 3 to detect duplicate events")
    return days


LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]
Station = Literal["receiver", "parser", "api", "sinks"]
Trigger = Literal["receiver", "parser", "maintenance", "api", "sinks", "ingest"]


class GeneralSettings(BaseModel):
    """The settings that exist with every kind of log."""

    data: Path = Field(Path("headwater-data"), description="Folder of log, lake and claims.")
    host: str = Field("127.0.0.1", description="Address to listen on; others than loopback require `keys`.")
    port: int = Field(5000, ge=0, le=65535, description="Port to listen on; 0 picks a free port.")
    marquez_strict: bool = Field(
        False,
        description="Answer `POST /api/v1/lineage` like Marquez: 201 once answers include the event, 422 if a member "
        "is missing that Marquez requires. Only for `headwater up`.",
    )
    stations: tuple[Station, ...] = Field(
        ("receiver", "parser", "api", "sinks"),
        description="Stations that `headwater up` runs. Other machines can run the rest on the same log and lake.",
    )
    rules: Path | None = Field(None, description="Folder with your rules; default is `rules` in the data folder.")
    sinks: str | None = Field(
        None, description="File with your sinks, a path or `abfss://` URL; default is `sinks.yml` in the data folder."
    )
    contracts: Path | None = Field(
        None, description="Folder with data contracts and `policies.yml`; default is `contracts` in the data folder."
    )
    notice: str | None = Field(
        None, max_length=500, description="Text above every page of the dashboard, such as the name of an environment."
    )
    tick_s: float = Field(
        1.0,
        gt=0,
        le=3600,
        description="Minimum seconds between two commits to the lake. After a pause, events are committed immediately.",
    )
    read_only: bool = Field(
        False, description="Refuse every request that would send events or change something. Only for `headwater up`."
    )
    log_level: LogLevel = Field(
        "info", description="Least level of log lines: `debug`, `info`, `warning` or `error`. Only for `headwater up`."
    )
    log_format: LogFormat = Field(
        "text", description="Format of log lines: `text`, or `json` with one object a line. Only for `headwater up`."
    )
    keys: tuple[Key, ...] = Field((), description="Keys of producers and readers: name, key, roles, namespaces.")
    keys_file: Path | None = Field(
        None,
        description="File in which `headwater keys` stores keys; default is `identity/keys.json` in the data folder.",
    )
    oidc_issuer: str | None = Field(
        None, pattern=r"^https://|^http://(localhost|127\.0\.0\.1|\[::1\])[:/]",
        description="Issuer of tokens (OIDC), such as `https://login.microsoftonline.com/TENANT/v2.0`.",
    )  # fmt: skip
    oidc_audience: tuple[str, ...] = Field((), description="Accepted audiences of tokens; default is `oidc_client_id`.")
    oidc_roles: dict[str, str] = Field(
        {"Headwater.Read": "read", "Headwater.Write": "write", "Headwater.Admin": "admin"},
        description="Maps values of a token's `roles`, `groups`, `scp` or `scope` to roles; see below.",
    )
    oidc_client_id: str | None = Field(None, description="Client id for sign-in on the dashboard.")
    oidc_client_secret: Secret | None = Field(None, description="Client secret, if the issuer requires one.")
    oidc_redirect_url: str | None = Field(
        None,
        pattern=r"^https?://[^?#]+/auth/callback$",
        description="Redirect URL after sign-in; default is `http://localhost:PORT/auth/callback`.",
    )
    session_key: Secret | None = Field(
        None,
        min_length=32,
        description="Key that seals sessions, for several instances; by default, one is generated in the data folder.",
    )
    allowed_hosts: tuple[str, ...] = Field(
        ("localhost", "127.0.0.1", "::1"),
        description="Accepted names in Host headers, and origins of other pages, while there are no keys.",
    )
    max_body_bytes: int = Field(32 << 20, gt=0, le=1 << 60, description="Maximum decompressed bytes of a request body.")
    request_timeout_s: float = Field(
        30.0, gt=0, le=3600, description="Seconds to receive the headers of a request, and then its body."
    )
    log: str = Field("sqlite", description="Event log, which holds acknowledged events.")
    lake: str | None = Field(
        None,
        description="Folder of the Delta tables, or a URL with `abfss://`, `s3://` or `gs://`; default is `lake` in "
        "the data folder.",
    )
    lake_options: dict[str, Secret] = Field(
        {}, description="Storage options of delta-rs for `lake`, instead of or in addition to a managed identity."
    )
    claims_url: str | None = Field(
        None,
        description="URL of the container or bucket for large bodies; default is `claims` in the data folder.",
    )
    claims_options: dict[str, Secret] = Field(
        {},
        description="`account_name` and `account_key`, or `sas_token`, for `claims_url` instead of an identity. For a "
        "bucket, the same options as in `lake_options`.",
    )
    ingest: tuple[str, ...] = Field(
        (), description="Folders whose files the timer `ingest` of the Function App ingests, such as `abfss://…`."
    )
    ingest_keep_hours: float = Field(
        0.0,
        ge=0,
        le=MOST_HOURS,
        description="Hours after which the timer `ingest` deletes an ingested file whose events are in bronze; 0 keeps "
        "all files.",
    )
    ingest_options: dict[str, Secret] = Field(
        {}, description="`account_name` and `account_key`, or `sas_token`, for files in Azure instead of an identity."
    )
    bronze_keep_days: Annotated[int, AfterValidator(_check_retention_days)] = Field(
        0, ge=0, le=MOST_HOURS // 24, description="Days that bronze keeps events, at least 3; 0 keeps all events."
    )
    window_days: int | None = Field(
        None,
        ge=0,
        le=36_500,
        description="Days that an earlier execution counts as use, 92 by default; 0 counts only the newest execution.",
    )
    vacuum_hours: int = Field(
        24,
        ge=24,
        le=MOST_HOURS,
        description="Hours after which unused files of the lake are deleted; use 168 with a Fabric shortcut.",
    )
    record_cpu_s: float = Field(
        RECORD_CPU_S,
        gt=0,
        le=600,
        description="Maximum CPU seconds to parse one record; slower records are rejected as `too_slow`.",
    )
    index_disk_bytes: int = Field(
        800_000_000,
        gt=0,
        le=1 << 60,
        description="Temporary storage of a Function App instance in bytes; readiness and metrics compare the size of "
        "the index with it.",
    )
    triggers: tuple[Trigger, ...] = Field(
        ("receiver", "parser", "maintenance", "api"),
        description="Triggers that the Function App registers.",
    )
    flush_s: float = Field(
        1.0, ge=0, le=600, description="Seconds between two commits to a table by one Function App process."
    )


class Settings(AllLogSettings, GeneralSettings):
    """All settings. Unknown names are errors, so that misspelt settings are not ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@cache
def settings_class_for(log: str) -> type[Settings]:
    """Return the model of all settings for a kind of log. A log of an installed package adds its own settings.

    Raises WrongSetting if the kind is unknown, or if it redefines an existing setting.
    """
    if log in LOGS.built_in:
        return Settings
    added = log_kind(log).settings
    own = {name for each in added.__mro__ if each not in Settings.__mro__ for name in get_annotations(each)}
    if taken := own & {*Settings.model_fields}:
        raise WrongSetting(
            f"The event log {log!r} defines the setting {min(taken)!r}, which exists already. Rename it to "
            f"{log}_{min(taken)} in the package of the log."
        )
    bases: Any = (Settings, added)
    model: type[Settings] = create_model("Settings", __base__=bases)
    return model


def settings_from_json(text: bytes) -> Settings:
    """Read settings that a process wrote with `model_dump_json`."""
    return settings_class_for(json.loads(text)["log"]).model_validate_json(text)


def load_settings(
    overrides: Mapping[str, Any], *, folder: Path = Path(), environment: Mapping[str, str] = os.environ
) -> tuple[Settings, dict[str, str]]:
    """Return the settings, and the source of each setting by name.

    The source is `default`, the name of the settings file, the name of the environment variable or `command line`.
    overrides: values of the command line; None means that the option was not given. folder: contains the settings file.
    Raises WrongSetting for an invalid or unknown setting. The message names the setting, its source and its valid
    values.
    """
    values: dict[str, Any] = {}
    file = _read_settings_file(folder / FILE)
    log = overrides.get("log") or environment.get(variable_name("log")) or file.get("log")
    model = settings_class_for(log if isinstance(log, str) else "sqlite")
    sources = dict.fromkeys(model.model_fields, "default")
    for source, found in (
        (FILE, file),
        ("environment", read_environment(model.model_fields, environment)),
        ("command line", {name: value for name, value in overrides.items() if value is not None}),
    ):
        values |= found
        sources |= {name: variable_name(name) if source == "environment" else source for name in found}
    try:
        settings = model.model_validate(values)
    except ValidationError as error:
        raise _setting_error(error, model, sources) from error
    _check_open_access(settings)
    _check_oidc(settings)
    log_kind(settings.log).check(settings)
    _check_addresses(settings)
    _check_stations(settings)
    for name in ("lake_options", "claims_options", "ingest_options"):
        options: Mapping[str, Secret] = getattr(settings, name)
        check_options({key: value.get_secret_value() for key, value in options.items()}, name)
    return settings, sources


def _read_settings_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text()) if path.exists() else {}
    except (OSError, ValueError) as error:
        raise WrongSetting(f"Cannot read {path}: {error}. Correct the file or remove it.") from error


def _setting_error(error: ValidationError, model: type[Settings], sources: Mapping[str, str]) -> WrongSetting:
    first = error.errors(include_input=False, include_url=False)[0]
    name = str(first["loc"][0])
    where = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden" and len(first["loc"]) == 1:
        known = ", ".join(model.model_fields)
        return WrongSetting(f"Unknown setting {name!r} in {sources.get(name, FILE)}. Known settings: {known}.")
    return WrongSetting(
        f"Setting {where!r} from {sources.get(name, FILE)}: {first['msg']}. See docs/reference/settings.md."
    )


def keys_path(settings: Settings) -> Path:
    """Return the path of the key file; it may not exist."""
    return (settings.keys_file or settings.data / "identity" / "keys.json").expanduser().resolve()


def contracts_path(settings: Settings) -> Path:
    """Return the path of the folder of contracts; it may not exist."""
    return (settings.contracts or settings.data / "contracts").expanduser().resolve()


def _check_oidc(settings: Settings) -> None:
    for word, grant in settings.oidc_roles.items():
        role, colon, namespace = grant.partition(":")
        if role not in ("read", "write", "admin") or (colon and (role != "write" or not namespace)):
            raise WrongSetting(
                f"oidc_roles: {word!r} has the invalid role {grant!r}. Use read, write, admin, or write:NAMESPACE."
            )
    if settings.oidc_issuer and not (settings.oidc_audience or settings.oidc_client_id):
        raise WrongSetting(
            "oidc_issuer is set without an audience, so tokens for other services would be accepted. Set "
            "`oidc_audience` or `oidc_client_id`."
        )


def _check_open_access(settings: Settings) -> None:
    is_closed = settings.keys or settings.oidc_issuer or keys_path(settings).exists()
    if not is_closed and not is_loopback(settings.host):
        raise WrongSetting(
            f"Other machines can reach host {settings.host!r}, but there are no keys. Run `headwater keys add`, or add "
            f"[[keys]] to {FILE} (name, key, roles), or set {PREFIX}KEYS. Without keys, only loopback is allowed."
        )


def _check_stations(settings: Settings) -> None:
    """Raise WrongSetting if stations on different machines would not share the log, the lake or large bodies."""
    missing = [each for each in get_args(Station) if each not in settings.stations and each != "sinks"]
    if not settings.stations:
        raise WrongSetting(f"stations is empty. Use one or more of {', '.join(get_args(Station))}.")
    if not missing:
        return
    apart = f"stations = {', '.join(settings.stations)} leaves {' and '.join(missing)} to other machines, which "
    if settings.log == "sqlite":
        raise WrongSetting(f'{apart}cannot reach a log on this disk. Set log = "kafka" or log = "event_hub".')
    if settings.lake is None and set(settings.stations) != {"receiver"}:
        raise WrongSetting(f"{apart}cannot reach a lake in this data folder. Set `lake` to a URL or a shared folder.")
    if settings.claims_url is None and ("receiver" in missing) != ("parser" in missing):
        raise WrongSetting(
            f"{apart}cannot reach large bodies in this data folder: events above `claim_bytes` would be lost. Set "
            "`claims_url` to a URL such as s3://BUCKET/claims."
        )


def _check_addresses(settings: Settings) -> None:
    for name, value in (("lake", settings.lake), ("sinks", settings.sinks)):
        is_bucket = name == "lake" and value and _BUCKET.fullmatch(value)
        if value and "://" in value and not is_bucket and not _ABFSS.fullmatch(value):
            buckets = ", s3://BUCKET/PATH or gs://BUCKET/PATH" if name == "lake" else ""
            raise WrongSetting(
                f"{name} = {value.partition('?')[0]!r} is not a supported URL. Write it like "
                f"abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH{buckets}, or use a local path. Put credentials "
                "into `lake_options`."
            )


def settings_for_display(settings: Settings) -> list[dict[str, Any]]:
    """Return the effective settings for display. Secrets are `***`, and URLs have no query."""
    values = settings.model_dump(mode="json")
    return [
        {
            "setting": name,
            "value": value.partition("?")[0] if isinstance(value := values[name], str) else value,
            "default": getattr(settings, name) == field.get_default(),
            "description": field.description or "",
        }
        for name, field in type(settings).model_fields.items()
    ]


def is_loopback(host: str) -> bool:
    """Return whether an address is a loopback address, so that only this machine can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
