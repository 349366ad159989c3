"""How notices are signed: by the Standard Webhooks specification 1.0.0."""

import base64
import binascii
import hmac
import time

import msgspec

from headwater.errors import WrongSetting
from headwater.sinks.connecting.http_post import Headers


class _Notice(msgspec.Struct):
    id: str


def signed_with(key: bytes) -> Headers:
    """Return what signs a notice: HMAC-SHA256 over its id, the time of sending (s) and its body, joined by dots."""

    def headers(_: str, __: str, body: bytes | None) -> dict[str, str]:
        notice, sent = body or b"", str(int(time.time()))
        name = msgspec.json.decode(notice, type=_Notice).id
        digest = hmac.digest(key, f"{name}.{sent}.".encode() + notice, "sha256")
        signature = f"v1,{base64.b64encode(digest).decode()}"
        return {"webhook-id": name, "webhook-timestamp": sent, "webhook-signature": signature}

    return headers


def signing_key(secret: str) -> bytes:
    """Return the key that a secret is; raises WrongSetting for one that is none."""
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not 24 <= len(key) <= 64:
        raise WrongSetting(
            "`secret` is none of `whsec_` and 24 to 64 bytes in base64. Make one: "
            "`python -c \"import base64, os; print('whsec_' + base64.b64encode(os.urandom(32)).decode())\"`."
        )
    return key
