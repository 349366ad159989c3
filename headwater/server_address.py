"""Where a running Headwater is asked or sent to."""

from urllib.parse import urlsplit

from headwater.errors import WrongSetting

LOCAL = "http://127.0.0.1:5000"


def server_address(url: str) -> str:
    """Return an address without a slash at its end; raises WrongSetting for what is none."""
    fix = f"Write it like {LOCAL}."
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:  # a port out of range, half an IPv6 address
        raise WrongSetting(f"{url!r} is no address of a Headwater: {error}. {fix}") from error
    if not is_one:
        raise WrongSetting(f"{url!r} is no address of a Headwater. {fix}")
    return url.rstrip("/")
