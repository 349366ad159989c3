"""Locate and open the lake and the large bodies: folders, or addresses with their storage options."""

import os
import secrets
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from headwater.common.errors import WrongSetting
from headwater.common.extras import require_extra
from headwater.intake.event_log import Claims
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.event_log.log_registry import log_kind
from headwater.lake.ownership import ROUTES
from headwater.operations.runtime.data_folder import data_folder_path
from headwater.operations.settings import Settings

if TYPE_CHECKING:
    from headwater.lake.bronze_tables import Bronze


OWNER = ROUTES["parser"]

STORAGE_OPTIONS = {"timeout": "15s", "connect_timeout": "3s", "max_retries": "3", "retry_timeout": "10s"}
"""Limits a request to the lake to 25 s; the defaults of delta-rs allow minutes. `lake_options` overrides the limits."""


BUCKETS = ("s3://", "gs://")

CONDITIONAL_PUT = {"aws_conditional_put": "etag"}
"""With this storage option, delta-rs never overwrites a commit. Without it, parsers could lose each other's commits."""


def open_bronze(settings: Settings) -> "Bronze":
    """Open the bronze tables, in a folder or at an address."""
    from headwater.lake.bronze_tables import Bronze

    lake, options = lake_root_and_options(settings)
    return Bronze(f"{lake}/bronze", options)


def lake_root_and_options(settings: Settings) -> tuple[str, dict[str, str]]:
    """Return the folder or address of the lake, without a trailing slash, and its storage options."""
    if is_lake_remote(settings):
        return str(settings.lake).rstrip("/"), remote_options(settings)
    return str(lake_folder(settings)), {}


def remote_options(settings: Settings) -> dict[str, str]:
    """Return the storage options of delta-rs for tables at an address."""
    in_bucket = str(settings.lake).startswith(BUCKETS)
    own = (
        CONDITIONAL_PUT
        if str(settings.lake).startswith("s3://")
        else {}
        if in_bucket
        else _managed_identity_options(settings)
    )
    return {**STORAGE_OPTIONS, **own, **resolve_secrets(settings.lake_options)}


def lake_folder(settings: Settings) -> Path:
    """Return the folder of a local lake."""
    return Path(settings.lake or data_folder_path(settings) / "lake").expanduser().resolve()


def is_lake_remote(settings: Settings) -> bool:
    """Return whether the lake is at a URL, so that each access is a request with cost and latency."""
    return "://" in (settings.lake or "")


def _managed_identity_options(settings: Settings) -> dict[str, str]:
    """Return the storage options of a managed identity. delta-rs does not find the endpoint of Azure Functions itself.

    The names of the options are from `object_store::azure::AzureConfigKey`, which reads IDENTITY_HEADER itself.
    """
    found = {"msi_endpoint": os.environ.get("IDENTITY_ENDPOINT"), "client_id": settings.identity_client_id}
    return {name: value for name, value in found.items() if value}


def resolve_secrets(options: Mapping[str, SecretStr]) -> dict[str, str]:
    """Return options with their secrets in clear text."""
    return {name: value.get_secret_value() for name, value in options.items()}


def claim_limit(settings: Settings) -> int:
    """Return the maximum size in bytes of a body that is stored in the log itself."""
    return log_kind(settings.log).claim_limit(settings)


def open_claims(settings: Settings) -> Claims:
    """Open the store of large bodies. Raises WrongSetting if its address is invalid."""
    if settings.claims_url is None:
        return FolderClaims(claims_folder(settings))
    if settings.claims_url.startswith(BUCKETS):
        from headwater.operations.runtime.object_claims import ObjectClaims

        return ObjectClaims(settings.claims_url, resolve_secrets(settings.claims_options))
    from headwater.intake.event_log.blob_claims import BlobClaims

    with require_extra("azure"):
        find_spec("azure.storage.blob")  # raises if `azure` is missing; the first large body imports the SDK
    return BlobClaims(settings.claims_url, resolve_secrets(settings.claims_options), settings.identity_client_id)


def claims_folder(settings: Settings) -> Path:
    """Return the folder of large bodies. With the setting `claims_url`, the bodies are not in this folder."""
    return data_folder_path(settings) / "claims"


def check_conditional_writes(settings: Settings) -> None:
    """Check that a lake in a bucket supports conditional writes: create the same object twice, and delete the object.

    A commit to a Delta table creates an object that must not exist yet. If a store ignores this condition, the commit
    of one parser silently overwrites the commit of another parser, and acknowledged events are lost.

    Raises WrongSetting if the second write succeeds, LakeUnavailable if the bucket does not respond.
    """
    lake, options = lake_root_and_options(settings)
    if not lake.startswith(BUCKETS) or "aws_s3_locking_provider" in {name.lower() for name in options}:
        return
    from headwater.lake.object_store import ObjectStore

    store, probe = ObjectStore(lake, options), f"run/exclusive-{secrets.token_hex(8)}"
    store.create(probe, b"1")
    is_overwritten = store.create(probe, b"2")
    store.delete([probe])
    if is_overwritten:
        raise WrongSetting(
            f"The store of {lake} does not support conditional writes (If-None-Match: *), so two commits of a Delta "
            "table could overwrite each other. Use a newer version of the store, another store, or locking with "
            "DynamoDB: `aws_s3_locking_provider` in `lake_options`; see docs/how-to/platform-operator/storage.md."
        )
