"""What fails at a storage, said in one line: cause, fix, and nothing that was secret."""

import re

_KNOWN = (
    (
        "AuthorizationPermissionMismatch|InsufficientAccountPermissions",
        "the identity lacks the role for this (403)",
        "Give it `Storage Blob Data Contributor` on the container, `Reader` where it only reads; that takes minutes",
    ),
    (
        "KeyBasedAuthenticationNotPermitted",
        "the account takes no keys (403)",
        "Leave the key out of `lake_options`; a managed identity is used then",
    ),
    (
        "AuthorizationFailure",
        "the account refuses this caller (403): its network rules, or a wrong key",
        "Allow this network in the account's firewall, or correct the credentials",
    ),
    (
        "AuthenticationFailed|NoAuthenticationInformation",
        "the key or signature is wrong or expired (403)",
        "Correct the credentials in `lake_options`, or leave them out for a managed identity",
    ),
    (
        "token request|msi/token|oauth2/token|ManagedIdentityCredential|CredentialUnavailable",
        "there is no token for the managed identity",
        "Assign the identity to this app and check `identity_client_id`",
    ),
    (
        "AccessDenied",
        "the credentials lack the right for this (403)",
        "Give them `s3:PutObject` and `s3:DeleteObject` on what is in the bucket",
    ),
    (
        "InvalidAccessKeyId|SignatureDoesNotMatch",
        "the access key is unknown, or its secret is wrong (403)",
        "Correct the credentials",
    ),
    (
        "Unable to locate credentials",
        "there are no credentials of AWS",
        "Set AWS_ACCESS_KEY_ID and the like, a profile or a role",
    ),
    ("NoSuchBucket", "there is no such bucket (404)", "Create it, or correct `{setting}`"),
    (
        "InvalidAuthenticationInfo|ExpiredAuthenticationToken|ExpiredToken|401 Unauthorized",
        "the token is expired, or not for this account (401)",
        "A new one is asked for; if it stays, check `identity_client_id` and the clock",
    ),
    (
        "ContainerNotFound|FilesystemNotFound",
        "the account has no such container (404)",
        "Create it, or correct `{setting}`",
    ),
    (
        "ServerBusy|SlowDown|503 Service Unavailable|TooManyRequests|429 Too Many Requests",
        "it is overloaded and throttles (503 or 429)",
        "It is tried again, ever more slowly; if it stays, commit less often with `tick_s` or `flush_s`",
    ),
    ("InternalError|500 Internal Server Error|502 Bad|504 Gateway", "it failed (5xx)", "It is tried again"),
    (
        "dns error|failed to lookup|failed to resolve|Name or service not known|name resolution|getaddrinfo",
        "the account's name does not resolve",
        "Correct `{setting}`, or the DNS zone of its private endpoint",
    ),
    (
        "timed out|timeout on endpoint",
        "it did not answer in time",
        "It is tried again; if it stays, check the network to the account",
    ),
    (
        "error sending request|connection error|connect error|Connection refused|Connection aborted|reset by peer|"
        "Could not connect to the endpoint",
        "it cannot be reached, or did not answer in time",
        "It is tried again; if it stays, check `{setting}` and the network to the account",
    ),
)
_PATTERNS = [(re.compile(pattern, re.IGNORECASE), cause, fix) for pattern, cause, fix in _KNOWN]

_COLOURS = re.compile(r"\x1b\[\d*m|↳")
_QUERY = re.compile(r"\?[^\s\"'>)]*")
_SECRET = re.compile(r"(?i)\b(sig|signature|accountkey|sharedaccesskey|password|token|bearer)\b(\s*[=:]\s*|\s+)\S+")
_SHOWN = 300


def explain(error: BaseException, setting: str) -> str:
    """Return cause and fix of a fault as `cause. Fix.`, of one line.

    setting: the one that names the place. A fault that is not known is quoted, without queries of URLs and secrets.
    """
    text = str(error)
    for pattern, cause, fix in _PATTERNS:
        if pattern.search(text):
            return f"{cause}. {fix.format(setting=setting)}."
    return f"{_quoted(text)}. It is tried again."


def _quoted(text: str) -> str:
    line = " ".join(_COLOURS.sub("", text).split())
    return _SECRET.sub(r"\1 …", _QUERY.sub("", line))[:_SHOWN].rstrip(". ")
