"""Explain storage errors in one line with cause and fix, without secrets.

Also distinguishes transient disk errors, such as a full disk, from errors that indicate damaged data.
"""

import errno
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from headwater.common.errors import Retry

_DISK = (
    (
        r"No space left on device|StorageFull|database or disk is full|os error 28\b",
        "the disk has no free bytes or inodes",
        "Free space; Headwater retries automatically",
    ),
    (
        r"Disk quota exceeded|QuotaExceeded|os error 122\b",
        "the disk quota of this account is used up",
        "Free space, or raise the quota; Headwater retries automatically",
    ),
    (
        r"Read-only file system|ReadOnlyFilesystem|attempt to write a readonly database|os error 30\b",
        "the disk is mounted read-only",
        "Find the reason (`dmesg`), and remount it for writing; Headwater retries automatically",
    ),
    (
        r"Too many open files|os error 2[34]\b",
        "too many files are open",
        "Raise the limit (`ulimit -n`); Headwater retries automatically",
    ),
    (
        r"File too large|FileTooLarge|os error 27\b",
        "a file exceeds the size limit",
        "Raise the limit (`ulimit -f`); Headwater retries automatically",
    ),
    (
        r"Input/output error|disk I/O error|os error 5\b",
        "the disk has an I/O error, or is full",
        "Free space, and check the disk (`dmesg`); Headwater retries automatically",
    ),
    (
        "unable to open database file",
        "a file cannot be opened or created",
        "Free space, and check the limit of open files (`ulimit -n`); Headwater retries automatically",
    ),
)
"""Patterns of messages of the system, SQLite and Rust (delta-rs, `object_store`), with cause and fix."""

_TRANSIENT = {
    errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.EFBIG, errno.ENOMEM,
    errno.EAGAIN, errno.ESTALE,
}  # fmt: skip
_TRANSIENT_IN_SQLITE = {
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED,
}  # fmt: skip
DAMAGED_IN_SQLITE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
"""Error codes of SQLite for a damaged file."""

_KNOWN = (
    *_DISK,
    (
        "AuthorizationPermissionMismatch|InsufficientAccountPermissions",
        "the identity lacks a role (403)",
        "Assign `Storage Blob Data Contributor` on the container, or `Storage Blob Data Reader` to read only; it takes "
        "effect after minutes",
    ),
    (
        "KeyBasedAuthenticationNotPermitted",
        "the storage account does not allow keys (403)",
        "Remove the key from `lake_options` to use a managed identity",
    ),
    (
        "AuthorizationFailure",
        "the storage account denies access (403), because of its network rules or a wrong key",
        "Allow this network in the firewall of the account, or correct the credentials",
    ),
    (
        "AuthenticationFailed|NoAuthenticationInformation",
        "the key or signature is wrong or expired, or the clock of this machine is wrong (403)",
        "Correct the credentials in `lake_options`, or remove them to use a managed identity; check the clock",
    ),
    (
        "loading credentials|no credentials found|/latest/api/token|/latest/meta-data|Unable to locate credentials",
        "no AWS credentials were found",
        "Configure a role (IRSA, instance or task role), or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the "
        "environment or in the options",
    ),
    (
        "computeMetadata|GCP credential error|service account file|DefaultCredentialsError",
        "no Google credentials were found, or they cannot be read",
        "Configure a service account (Workload Identity), or set GOOGLE_APPLICATION_CREDENTIALS, or "
        "`google_service_account` in the options",
    ),
    (
        "URL scheme is not allowed",
        "the URL is http://, which is not allowed by default",
        'Use https://, or set `allow_http` to "true" in the options',
    ),
    (
        "az account get-access-token",
        "`az` returns no token: it is not installed, not signed in, or its sign-in has expired",
        "Run `az login`; if there is a managed identity, remove `use_azure_cli`",
    ),
    (
        "token request|msi/token|oauth2/token|ManagedIdentityCredential|CredentialUnavailable",
        "the managed identity did not get a token",
        "Assign the identity to this app and check `identity_client_id`; on your own machine, sign in with `az login` "
        'and set `lake_options` to {{"use_azure_cli": "true"}}',
    ),
    (
        "AccessDenied",
        "the credentials lack a permission (403)",
        "Grant `s3:ListBucket` on the bucket and `s3:GetObject`, `s3:PutObject`, `s3:DeleteObject` on its objects; for "
        "Google, grant `Storage Object User`",
    ),
    (
        "InvalidAccessKeyId|SignatureDoesNotMatch",
        "the access key is unknown, or its secret is wrong (403)",
        "Correct the credentials",
    ),
    (
        "RequestTimeTooSkewed|RequestExpired",
        "the clock of this machine differs too much from the clock of the store (403)",
        "Synchronize the clock of this machine (NTP); Headwater retries automatically",
    ),
    (
        "redirect without LOCATION|PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint",
        "the bucket is in another region",
        "Set `aws_region` in the options to the region of the bucket",
    ),
    (
        "UnknownIssuer|invalid peer certificate|CERTIFICATE_VERIFY_FAILED|self.signed certificate",
        "this machine does not trust the certificate of the store or of a proxy",
        "Add the CA that signed it to the certificates of this machine",
    ),
    (
        "NoSuchBucket|The specified bucket does not exist",
        "the bucket does not exist (404)",
        "Create it, or correct `{setting}`",
    ),
    (
        "InvalidAuthenticationInfo|ExpiredAuthenticationToken|ExpiredToken|401 Unauthorized",
        "the token has expired, or is not for this account (401)",
        "Headwater requests a new token; if the error persists, check `identity_client_id` and the clock",
    ),
    (
        "ContainerNotFound|FilesystemNotFound",
        "the container does not exist (404)",
        "Create it, or correct `{setting}`",
    ),
    (
        "ServerBusy|SlowDown|503 Service Unavailable|TooManyRequests|429 Too Many Requests",
        "the store is overloaded and throttles requests (503 or 429)",
        "Headwater retries with longer pauses; if the error persists, commit less often with `tick_s` or `flush_s`",
    ),
    (
        "InternalError|500 Internal Server Error|502 Bad|504 Gateway",
        "the store has an internal error (5xx)",
        "Headwater retries automatically",
    ),
    (
        "dns error|failed to lookup|failed to resolve|Name or service not known|name resolution|getaddrinfo",
        "the host name of the store cannot be resolved",
        "Correct `{setting}`, or the DNS zone of the private endpoint",
    ),
    (
        "timed out|timeout on endpoint",
        "the store did not answer in time",
        "Headwater retries automatically; if the error persists, check the network to the store",
    ),
    (
        "error sending request|connection error|connect error|Connection refused|Connection aborted|reset by peer|"
        "Could not connect to the endpoint",
        "the store cannot be reached, or did not answer in time",
        "Headwater retries automatically; if the error persists, check `{setting}` and the network to the store",
    ),
)
_PATTERNS = [(re.compile(pattern, re.IGNORECASE), cause, fix) for pattern, cause, fix in _KNOWN]

_COLOURS = re.compile(r"\x1b\[\d*m|↳")
_QUERY = re.compile(r"\?[^\s\"'>)]*")
_SECRET = re.compile(r"(?i)\b(sig|signature|accountkey|sharedaccesskey|password|token|bearer)\b(\s*[=:]\s*|\s+)\S+")
_INVALID_OPTION = re.compile(r'[Ff]ailed to parse \\?"([^"]{0,40}?)\\?" as (Duration|boolean|[fiu]\d+|[iu]size)\b')
_MAX_CHARS = 300


_DISK_PATTERNS = _PATTERNS[: len(_DISK)]


def is_transient(error: BaseException) -> bool:
    """Return whether an error is transient, such as a full or unmounted disk. Such errors do not damage data."""
    if isinstance(error, OSError):
        return error.errno in _TRANSIENT
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _TRANSIENT_IN_SQLITE
    return any(pattern.search(str(error)) for pattern, _, _ in _DISK_PATTERNS)


@contextmanager
def transient_faults_as_retry(action: str) -> Iterator[None]:
    """Raise Retry for transient disk errors. action: the action for the message, such as `save the ledger`."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if not is_transient(error):
            raise
        raise Retry(f"Cannot {action}: {explain_storage_error(error, 'data')}") from error


def explain_storage_error(error: BaseException, setting: str) -> str:
    """Return the cause and the fix of a storage error in one line, as `cause. Fix.`.

    setting: name of the setting that contains the storage location, for the fix. Errors without a known cause are
    quoted without secrets and URL queries.
    """
    text = str(error)
    if unread := _INVALID_OPTION.search(text):
        return f"{unread[1]!r} in the options of `{setting}` is not a valid {unread[2]}. Correct it."
    for pattern, cause, fix in _PATTERNS:
        if pattern.search(text):
            return f"{cause}. {fix.format(setting=setting)}."
    return f"{_quote(text)}. Headwater retries automatically."


def _quote(text: str) -> str:
    line = " ".join(_COLOURS.sub("", text).split())
    return _SECRET.sub(r"\1 …", _QUERY.sub("", line))[:_MAX_CHARS].rstrip(". ")
