"""What fails at a storage, said in one line: cause, fix, and nothing that was secret.

Also which faults of a disk pass by themselves, once there is room again: what lies there is not damaged by them.
"""

import errno
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from headwater.errors import Retry

_DISK = (
    (
        r"No space left on device|StorageFull|database or disk is full|os error 28\b",
        "the disk is full, of bytes or of files",
        "Free space; it goes on by itself",
    ),
    (
        r"Disk quota exceeded|QuotaExceeded|os error 122\b",
        "the quota of this account on the disk is used up",
        "Free space, or let the quota be raised; it goes on by itself",
    ),
    (
        r"Read-only file system|ReadOnlyFilesystem|attempt to write a readonly database|os error 30\b",
        "the disk may only be read",
        "Look why (`dmesg`), and mount it for writing; it goes on by itself",
    ),
    (
        r"Too many open files|os error 2[34]\b",
        "no more files may be open at once",
        "Raise the limit (`ulimit -n`); it goes on by itself",
    ),
    (
        r"File too large|FileTooLarge|os error 27\b",
        "a file may not become that large",
        "Raise the limit (`ulimit -f`); it goes on by itself",
    ),
    (
        r"Input/output error|disk I/O error|os error 5\b",
        "the disk fails, or is full",
        "Free space, and look at the disk (`dmesg`); it goes on by itself",
    ),
    (
        "unable to open database file",
        "a file cannot be opened or made",
        "Free space, and look whether more files may be open (`ulimit -n`); it goes on by itself",
    ),
)
"""As the system, SQLite and Rust (delta-rs, `object_store`) say it."""

_PASSING = {
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.EFBIG, errno.ENOMEM,
    errno.EAGAIN, errno.ESTALE,
}  # fmt: skip
_PASSING_IN_SQLITE = {
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED,
}  # fmt: skip
DAMAGED_IN_SQLITE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
"""Codes of errors by which SQLite says that a file is not as it was written."""

_KNOWN = (
    *_DISK,
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
        "the key or signature is wrong or expired, or this machine's clock is (403)",
        "Correct the credentials in `lake_options`, or leave them out for a managed identity; look at the clock",
    ),
    (
        "loading credentials|no credentials found|/latest/api/token|/latest/meta-data|Unable to locate credentials",
        "there are no credentials of AWS",
        "Let a role be assumed (IRSA, an instance's or a task's role), or set AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY, or both in the options",
    ),
    (
        "computeMetadata|GCP credential error|service account file|DefaultCredentialsError",
        "there are no credentials of Google, or they cannot be read",
        "Run where a service account is (Workload Identity), or set GOOGLE_APPLICATION_CREDENTIALS, or "
        "`google_service_account` in the options",
    ),
    (
        "URL scheme is not allowed",
        "the address is http, which is not spoken unasked",
        'Write https, or set `allow_http` to "true" in the options',
    ),
    (
        "az account get-access-token",
        "`az` gives no token: it is not installed, nobody is signed in, or the sign-in has expired",
        "Run `az login`; where a managed identity is, leave `use_azure_cli` out",
    ),
    (
        "token request|msi/token|oauth2/token|ManagedIdentityCredential|CredentialUnavailable",
        "there is no token for the managed identity",
        "Assign the identity to this app and check `identity_client_id`; on a machine of your own sign in with "
        '`az login` and set `lake_options` to {{"use_azure_cli": "true"}}',
    ),
    (
        "AccessDenied",
        "the credentials lack the right for this (403)",
        "Give them `s3:ListBucket` on the bucket and `s3:GetObject`, `s3:PutObject`, `s3:DeleteObject` on what is in "
        "it; at Google `Storage Object User`",
    ),
    (
        "InvalidAccessKeyId|SignatureDoesNotMatch",
        "the access key is unknown, or its secret is wrong (403)",
        "Correct the credentials",
    ),
    (
        "RequestTimeTooSkewed|RequestExpired",
        "this machine's clock and the store's are too far apart (403)",
        "Let this machine's clock be kept right (NTP); it goes on by itself",
    ),
    (
        "redirect without LOCATION|PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint",
        "the bucket is in another region",
        "Set `aws_region` in the options to the bucket's own",
    ),
    (
        "UnknownIssuer|invalid peer certificate|CERTIFICATE_VERIFY_FAILED|self.signed certificate",
        "its certificate is not trusted by this machine",
        "Put the authority that signed it, the store's or a proxy's, among this machine's certificates",
    ),
    (
        "NoSuchBucket|The specified bucket does not exist",
        "there is no such bucket (404)",
        "Create it, or correct `{setting}`",
    ),
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
_UNREAD = re.compile(r'[Ff]ailed to parse \\?"([^"]{0,40}?)\\?" as (Duration|boolean|[fiu]\d+|[iu]size)\b')
_SHOWN = 300


_OF_DISK = _PATTERNS[: len(_DISK)]


def passes(error: BaseException) -> bool:
    """Tell whether a fault passes once the disk has room, or is there again: then what lies on it is as it was."""
    if isinstance(error, OSError):
        return error.errno in _PASSING
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _PASSING_IN_SQLITE
    return any(pattern.search(str(error)) for pattern, _, _ in _OF_DISK)


@contextmanager
def on_disk(doing: str) -> Iterator[None]:
    """Turn faults that pass by themselves into Retry. doing: what cannot be done, such as `keep what was taken`."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if not passes(error):
            raise
        raise Retry(f"Cannot {doing}: {explain(error, 'data')}") from error


def explain(error: BaseException, setting: str) -> str:
    """Return cause and fix of a fault as `cause. Fix.`, of one line.

    setting: the one that names the place. A fault that is not known is quoted, without queries of URLs and secrets.
    """
    text = str(error)
    if unread := _UNREAD.search(text):
        return f"{unread[1]!r} among the options of `{setting}` is no {unread[2]}. Correct it."
    for pattern, cause, fix in _PATTERNS:
        if pattern.search(text):
            return f"{cause}. {fix.format(setting=setting)}."
    return f"{_quoted(text)}. It is tried again."


def _quoted(text: str) -> str:
    line = " ".join(_COLOURS.sub("", text).split())
    return _SECRET.sub(r"\1 …", _QUERY.sub("", line))[:_SHOWN].rstrip(". ")
