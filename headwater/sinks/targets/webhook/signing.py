"""Sign notices by the Standard Webhooks specification 1.0.0."""

import base64
import binascii
import hmac
import time

import msgspec

from headwater.common.errors import WrongSetting
from headwater.sinks.connecting.http_post import Headers


class _Notice(msgspec.Struct):
    id: str


def sign_notices(key: bytes) -> Headers:
    """Return a function that signs a notice: HMAC-SHA256 over its id, the time of sending (s) and its body."""

    def headers(_: str, __: str, body: bytes | None) -> dict[str, str]:
        notice, sent = body or b"", str(int(time.time()))
        name = msgspec.json.decode(notice, type=_Notice).id
        digest = hmac.digest(key, f"{name}.{sent}.".encode() + notice, "sha256")
        signature = f"v1,{base64.b64encode(digest).decode()}"
        return {"webhook-id": name, "webhook-timestamp": sent, "webhook-signature": signature}

    return headers


def signing_key(secret: str) -> bytes:
    """Decode a secret to a key; raises WrongSetting if it is not valid."""
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not 24 <= len(key) <= 64:
        raise WrongSetting(
            "`secret` is not `whsec_` followed by 24 to 64 bytes in base64. Create one: "
            "`python -c \"import base64, os; print('whsec_' + base64.b64encode(os.urandom(32)).decode())\"`."
        )
    return key
