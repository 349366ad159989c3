"""Validate storage options that are numbers, durations or booleans, before delta-rs and obstore parse them.

The two libraries report invalid values late and in different ways.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from headwater.common.errors import WrongSetting

_S = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_UNITS = {
    "milliseconds": "ms", "millisecond": "ms", "msec": "ms", "seconds": "s", "second": "s", "secs": "s", "sec": "s",
    "minutes": "m", "minute": "m", "mins": "m", "min": "m", "hours": "h", "hour": "h", "hrs": "h", "hr": "h",
    "days": "d", "day": "d",
}  # fmt: skip
_PART = re.compile(r"(\d{1,9})\s*([a-z]+)\s*")
_MOST = (1 << 31) - 1
_TRUE, _FALSE = ("1", "true", "on", "yes", "y"), ("0", "false", "off", "no", "n")
_PROVIDER = re.compile("^(aws|azure|google)_")


class _Kind(NamedTuple):
    fits: Callable[[str], bool]
    example: str


def option_seconds(text: str) -> float | None:
    """Parse a duration such as `15s` or `1m 30s` of a storage option. Return its seconds, or None if it is invalid."""
    parts, at = [], 0
    while match := _PART.match(text, at):
        unit = _UNITS.get(match[2], match[2])
        if unit not in _S:
            return None
        parts.append(int(match[1]) * _S[unit])
        at = match.end()
    return sum(parts) if parts and at == len(text) and sum(parts) <= _MOST else None


def check_options(options: Mapping[str, str], setting: str) -> None:
    """Raise WrongSetting for an option that is not a valid number, duration or boolean.

    setting: name of the setting with the options, for the message.
    """
    for name, value in options.items():
        kind = _KINDS.get(_PROVIDER.sub("", name.lower()))
        if kind is not None and not kind.fits(value):
            raise WrongSetting(f"{setting}: {name} = {value[:40]!r} is not valid. Write it like {kind.example}.")


_COUNT = _Kind(lambda text: text.isascii() and text.isdigit() and int(text[:20]) <= _MOST, "3")
_TIME = _Kind(lambda text: option_seconds(text) is not None, "250ms, 15s or 5m")
_TRUTH = _Kind(lambda text: text.lower() in _TRUE + _FALSE, "true or false")

_KINDS: Mapping[str, _Kind] = {
    **dict.fromkeys(("max_retries", "pool_max_idle_per_host", "http2_max_frame_size"), _COUNT),
    **dict.fromkeys(
        (
            "retry_timeout", "timeout", "connect_timeout", "read_timeout", "pool_idle_timeout",
            "http2_keep_alive_interval", "http2_keep_alive_timeout", "backoff_config.init_backoff",
            "backoff_config.max_backoff", "init_backoff", "max_backoff",
        ), _TIME,
    ),
    **dict.fromkeys(
        (
            "allow_http", "allow_invalid_certificates", "http1_only", "http2_only", "http2_keep_alive_while_idle",
            "randomize_addresses", "skip_signature", "unsigned_payload", "virtual_hosted_style_request",
            "disable_tagging", "s3_express", "request_payer", "use_fabric_endpoint", "use_azure_cli",
        ), _TRUTH,
    ),
}  # fmt: skip
