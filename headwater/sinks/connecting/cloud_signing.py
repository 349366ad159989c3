"""Authenticate at AWS endpoints (signed requests) and Google endpoints (tokens), with the vendors' packages."""

from hashlib import sha256
from typing import Any

from headwater.common.errors import Retry, WrongSetting
from headwater.common.extras import extra
from headwater.sinks.connecting.http_post import Headers
from headwater.sinks.contract.sink_options import ConfigModel

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


class Aws(ConfigModel):
    """AWS Signature Version 4 with this machine's credentials: variables, profile or role."""

    region: str
    service: str = "datazone"
    profile: str | None = None


def aws_auth_headers(given: Aws) -> Headers:
    """Return a function that signs requests; raises WrongSetting if botocore is not installed.

    The client token is a hash of the body, so that DataZone ignores a repeated event.
    """
    with extra("aws"):
        from botocore.auth import SigV4Auth  # noqa: PLC0415 - an extra
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - an extra
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415 - an extra
        from botocore.session import Session  # noqa: PLC0415 - an extra
    session = Session(profile=given.profile)

    def headers(method: str, url: str, body: bytes | None) -> dict[str, str]:
        token = {"client-token": sha256(body).hexdigest()} if body is not None else {}
        request = AWSRequest(method, url, headers=token, data=body or b"")
        try:
            credentials = session.get_credentials()  # the session caches them and renews them before they expire
            if credentials is None:
                raise WrongSetting(
                    "Found no AWS credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile or a role."
                )
            SigV4Auth(credentials.get_frozen_credentials(), given.service, given.region).add_auth(request)
        except BotoCoreError as error:
            raise Retry(f"Could not sign a request for AWS: {error}") from error
        return {name.lower(): value for name, value in request.headers.items()}

    return headers


def google_auth_headers() -> Headers:
    """Return a function for tokens of Google's default credentials; raises WrongSetting if google-auth is missing."""
    with extra("google"):
        import google.auth  # noqa: PLC0415 - an extra
        from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError  # noqa: PLC0415 - an extra
        from google.auth.transport.requests import Request  # noqa: PLC0415 - an extra
    found: list[Any] = []

    def headers(*_: object) -> dict[str, str]:
        token: dict[str, str] = {}
        try:
            if not found:
                found.append(google.auth.default(scopes=[_SCOPE])[0])
            found[0].before_request(Request(), "POST", "", token)  # requests a new token if the last one has expired
        except DefaultCredentialsError as error:
            raise WrongSetting(
                "Found no Google credentials. Set GOOGLE_APPLICATION_CREDENTIALS, or attach a service account."
            ) from error
        except GoogleAuthError as error:
            raise Retry(f"Google issued no token: {error}") from error
        return token

    return headers
