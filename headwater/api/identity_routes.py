"""Questions and commands for keys, and the admin log."""

from functools import partial
from typing import Annotated, Any, Literal, Protocol

import msgspec
from msgspec import field

from headwater.auth.access import Caller
from headwater.auth.keys import KeyManager, KeyRequest
from headwater.common.paging import ListPage, RowOrder
from headwater.lake.admin_log import admin_rows
from headwater.lake.delta_table import LakeTable
from headwater.questions import parameters as p
from headwater.questions.answer_types.common import AnswerStruct, ListAnswer, Time
from headwater.questions.declaring import Help, question
from headwater.questions.parameter_groups import NewestPage


class KeyShown(AnswerStruct):
    """A key without its hash. last_used: precise to ten minutes; kept: whether the file or the settings contain it.

    owner: name of the owner for display, `unassigned` without one; `owner_issuer` and `owner_subject` identify the
    owner, `owner_object_id` is the object id of Entra ID.
    """

    id: str
    name: str
    roles: list[str]
    namespaces: list[str]
    datasets: list[str] | None
    made: Time | None
    made_by: str
    owner: str
    owner_issuer: str | None
    owner_subject: str | None
    owner_object_id: str | None
    expires: Time | None
    valid: bool
    last_used: Time | None
    kept: str


class KeysAnswer(ListAnswer):
    """Keys: all for an administrator, their own for other callers."""

    items: list[KeyShown]


class KeysRevoked(AnswerStruct):
    """Revoked keys."""

    items: list[KeyShown]


class KeysAssigned(AnswerStruct):
    """Keys with a new owner."""

    items: list[KeyShown]


class KeyMade(KeyShown):
    """A new key. `key` is its secret, which is shown only once."""

    secret: str = field(name="key")


class AdminAct(AnswerStruct):
    """An administrative action."""

    act_id: str
    at: Time
    who: str
    action: str
    subject: str
    outcome: str
    detail: str
    address: str
    agent: str


class AdminActs(ListAnswer):
    """Administrative actions, newest first."""

    items: list[AdminAct]


class IdentitySources(Protocol):
    """Sources of answers about keys."""

    @property
    def keys(self) -> KeyManager:
        """The keys."""

    @property
    def admin_log(self) -> LakeTable:
        """The table with administrative actions."""

    @property
    def caller(self) -> Caller:
        """The caller."""


Name = Annotated[str, Help("Name of the key, shown in events, metrics and refusals.", longest=99)]
IdOrName = Annotated[str, Help("Id of a key, or a name for all keys with this name.")]
KeyRole = Annotated[Literal["write", "read", "admin"], Help("Role of the key; `write` allows sending events.")]
JobNamespaces = Annotated[tuple[str, ...], Help("Job namespace that the key may write; repeatable, default all.")]
DatasetNamespaces = Annotated[
    tuple[str, ...],
    Help("Namespace in which the key may drop, rename, truncate and tag datasets; * for all, default `namespace`."),
]
ValidFor = Annotated[str | None, Help("How long the key is valid, such as 90d, or never.", longest=20)]


Subject = Annotated[str, Help("`sub` of the owner's tokens; /auth/me shows it to the owner.", longest=255)]
OwnersIssuer = Annotated[str | None, Help("`iss` of the owner's tokens; default `oidc_issuer`.", longest=1000)]
OwnersName = Annotated[str | None, Help("Name of the owner, for display.", longest=200)]


_SORTED = ("name", "id", "made", "made_by", "owner", "expires", "last_used", "kept")
_KEYS = RowOrder[tuple[int, dict[str, Any]]](
    "keys",
    {name: partial(lambda member, row: row[1][member], name) for name in _SORTED},
    "name",
    lambda row: (row[1]["id"], row[0]),  # keys of the settings have no id
    ties=2,
    texts=lambda row: (row[1]["name"], row[1]["made_by"], row[1]["owner"], *row[1]["roles"], *row[1]["namespaces"]),
)


@question("keys", called="list")
def keys(sources: IdentitySources, *, page: ListPage) -> KeysAnswer:
    """List keys with owners, expiry and last use. Callers without the role admin see only their own keys."""
    found = sources.keys.list_keys(sources.caller)
    cut = _KEYS.page(enumerate(found, -len(found)), page)
    return msgspec.convert({"items": [key for _, key in cut.rows], **cut.info}, KeysAnswer)


@question("keys/add", called="add", method="POST")
def add_key(
    sources: IdentitySources,
    *,
    name: Name,
    role: KeyRole = "write",
    namespace: JobNamespaces = (),
    dataset: DatasetNamespaces = (),
    expires: ValidFor = "365d",
) -> KeyMade:
    """Create a key and show its secret once. A name can have two valid keys, so that keys can be rotated."""
    wanted = KeyRequest(name, [role], namespace, dataset, expires or "365d")
    return msgspec.convert(sources.keys.create_key(sources.caller, wanted), KeyMade)


@question("keys/{which}/revoke", called="revoke", method="POST")
def revoke_key(sources: IdentitySources, *, which: IdOrName) -> KeysRevoked:
    """Revoke keys. It takes effect within a second. Callers without the role admin can revoke their own keys."""
    return msgspec.convert({"items": sources.keys.revoke_keys(sources.caller, which)}, KeysRevoked)


@question("keys/{which}/assign", called="assign", method="POST", role="admin")
def assign_key(
    sources: IdentitySources, *, which: IdOrName, subject: Subject, issuer: OwnersIssuer = None, name: OwnersName = None
) -> KeysAssigned:
    """Set the owner of keys. Besides administrators, only the owner can list and revoke them."""
    return msgspec.convert({"items": sources.keys.assign_owner(which, subject, issuer, name)}, KeysAssigned)


@question("admin-log", reads_lake=True, role="admin")
def admin_log(sources: IdentitySources, *, since: p.Since = None, page: NewestPage) -> AdminActs:
    """List administrative actions, newest first: changes of keys and tags, deletions, redrives, retries."""
    found = admin_rows(sources.admin_log, page, since_us=since)
    items = [{**row, "at": row["at"].isoformat().replace("+00:00", "Z")} for row in found.rows]
    return msgspec.convert({"items": items, **found.info}, AdminActs)
