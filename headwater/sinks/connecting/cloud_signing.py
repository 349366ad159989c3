"""Who we are at Amazon's and Google's endpoints: a signature of each request, a token; by their own packages."""

from hashlib import sha256
from typing import Any

from headwater.errors import Retry, WrongSetting
from headwater.extras import extra
from headwater.sinks.connecting.http_post import Headers
from headwater.sinks.contract.sink_options import Part

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


class Aws(Part):
    """Signature Version 4 by the credentials that this machine has: variables, profile, role."""

    region: str
    service: str = "datazone"
    profile: str | None = None


def signed_for_aws(given: Aws) -> Headers:
    """Return what signs a request; raises WrongSetting where botocore is not installed.

    A client token follows from the body, so that DataZone takes a repeated event once.
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
            credentials = session.get_credentials()  # it keeps them, and asks anew before they end
            if credentials is None:
                raise WrongSetting("No credentials of AWS. Set AWS_ACCESS_KEY_ID and the like, a profile or a role.")
            SigV4Auth(credentials.get_frozen_credentials(), given.service, given.region).add_auth(request)
        except BotoCoreError as error:
            raise Retry(f"No signature of AWS: {error}") from error
        return {name.lower(): value for name, value in request.headers.items()}

    return headers


def known_to_google() -> Headers:
    """Return a token of Google's application default credentials; raises WrongSetting where google-auth is missing."""
    with extra("google"):
        import google.auth  # noqa: PLC0415 - an extra
        from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError  # noqa: PLC0415 - an extra
        from google.auth.transport.requests import Request  # noqa: PLC0415 - an extra
    found: list[Any] = []

    def headers(*_: object) -> dict[str, str]:
        told: dict[str, str] = {}
        try:
            if not found:
                found.append(google.auth.default(scopes=[_SCOPE])[0])
            found[0].before_request(Request(), "POST", "", told)  # asks for a token where the last one ends
        except DefaultCredentialsError as error:
            raise WrongSetting(
                "No credentials of Google. Set GOOGLE_APPLICATION_CREDENTIALS, or run where a service account is."
            ) from error
        except GoogleAuthError as error:
            raise Retry(f"No token of Google: {error}") from error
        return told

    return headers
