"""A bucket of S3, or of what speaks its protocol, or of Google's Cloud Storage: by obstore, with delta-rs' own options.

obstore is the store that delta-rs reads tables through (Rust's `object_store`), as a package: one set of options and of
credentials opens tables, large bodies and what is proven of a bucket. It lets go of the interpreter while it waits.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from headwater.errors import WrongSetting
from headwater.extras import extra

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SCHEMES = ("s3://", "gs://")

_CLIENT = ("allow_http", "allow_invalid_certificates", "proxy_url", "timeout", "connect_timeout")
"""Options of the client, which delta-rs takes among those of the store."""
_OF_DELTA_RS = ("max_retries", "retry_timeout", "aws_s3_locking_provider", "delta_dynamo_table_name")
"""Options that delta-rs alone reads, or that are said otherwise here."""


def open_bucket(url: str, options: Mapping[str, str], *, seconds: float) -> "ObjectStore":
    """Return the store of an address such as `s3://BUCKET/PATH`; connects with the first request.

    options: storage options of delta-rs; without credentials among them those of this machine: variables, a file, a
    role. seconds: for a request, which is tried once. Raises WrongSetting, also for an option that is not known.
    """
    with extra("objects"):
        from obstore.exceptions import BaseError  # noqa: PLC0415 - an extra
        from obstore.store import from_url  # noqa: PLC0415 - an extra

    told = {name.lower(): value for name, value in options.items() if name.lower() not in _OF_DELTA_RS}
    client: Any = {short: told.pop(name) for name in list(told) if (short := name.removeprefix("aws_")) in _CLIENT}
    limit = timedelta(seconds=seconds)
    try:
        found: ObjectStore = from_url(
            url, config=cast("Any", told), client_options={**client, "timeout": limit, "connect_timeout": limit},
            retry_config={"max_retries": 0, "retry_timeout": limit},
        )  # fmt: skip
        return found
    except (BaseError, OSError, ValueError) as error:
        said = str(error).splitlines()[0][:200]
        raise WrongSetting(f"Options for {url} do not open it: {said}. Correct them; see docs/storage.md.") from error


def bucket_faults() -> tuple[type[Exception], ...]:
    """Return what a request to a bucket raises."""
    from obstore.exceptions import BaseError  # noqa: PLC0415 - loaded by then

    return BaseError, OSError
