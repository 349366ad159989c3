"""URL of a running Headwater."""

from urllib.parse import urlsplit

from headwater.common.errors import WrongSetting

LOCAL = "http://127.0.0.1:5000"


def server_address(url: str) -> str:
    """Return a server URL without a trailing slash. Raises WrongSetting if it is not an http or https URL."""
    fix = f"Write it like {LOCAL}."
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:  # a port out of range, half an IPv6 address
        raise WrongSetting(f"{url!r} is not a valid URL: {error}. {fix}") from error
    if not is_valid:
        raise WrongSetting(f"{url!r} is not an http or https URL. {fix}")
    return url.rstrip("/")
