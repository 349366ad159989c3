"""What is asked and ordered of keys, and who changed what, declared as questions are."""

from functools import partial
from typing import Annotated, Any, Literal, Protocol

import msgspec

from headwater.access import Caller
from headwater.api.shapes import identity_shapes as shapes
from headwater.identity.key_desk import KeyDesk, WantedKey
from headwater.lake.admin_log import admin_rows
from headwater.lake.delta_table import LakeTable
from headwater.paging import ListPage, RowOrder
from headwater.questions import parameters as p
from headwater.questions.composed import NewestPage
from headwater.questions.declaring import Help, question


class IdentitySources(Protocol):
    """What is asked of keys is asked of this."""

    @property
    def keys(self) -> KeyDesk:
        """The keys."""

    @property
    def admin_log(self) -> LakeTable:
        """Who changed what."""

    @property
    def caller(self) -> Caller:
        """Who asks."""


Name = Annotated[str, Help("Name of the key: shown in events, metrics and refusals.", longest=99)]
IdOrName = Annotated[str, Help("Id of a key, or a name for all keys of it.")]
KeyRole = Annotated[Literal["write", "read", "admin"], Help("What it may do; write: post events.")]
Of = Annotated[tuple[str, ...], Help("Namespace of jobs that it may write; may come several times, without it all.")]
Over = Annotated[
    tuple[str, ...],
    Help("Namespace of datasets that it may drop, rename, truncate, tag in; * for all, without it `namespace`."),
]
Lasts = Annotated[str | None, Help("How long it is valid, such as 90d, or never.", longest=20)]


Subject = Annotated[str, Help("`sub` of the owner's tokens; /auth/me shows it to the owner.", longest=255)]
OwnersIssuer = Annotated[str | None, Help("`iss` of the owner's tokens; `oidc_issuer` without it.", longest=1000)]
OwnersName = Annotated[str | None, Help("Name of the owner, for display.", longest=200)]


_SORTED = ("name", "id", "made", "made_by", "owner", "expires", "last_used", "kept")
_KEYS = RowOrder[tuple[int, dict[str, Any]]](
    "keys",
    {name: partial(lambda member, row: row[1][member], name) for name in _SORTED},
    "name",
    lambda row: (row[1]["id"], row[0]),  # those of the settings have no id, and stand last
    ties=2,
    texts=lambda row: (row[1]["name"], row[1]["made_by"], row[1]["owner"], *row[1]["roles"], *row[1]["namespaces"]),
)


@question("keys", called="list")
def keys(sources: IdentitySources, *, page: ListPage) -> shapes.KeysAnswer:
    """List keys, their owners, when they end and when they were used last; others than admins see their own."""
    found = sources.keys.listed(sources.caller)
    cut = _KEYS.cut(enumerate(found, -len(found)), page)
    return msgspec.convert({"items": [key for _, key in cut.rows], **cut.told}, shapes.KeysAnswer)


@question("keys/add", called="add", method="POST")
def add_key(
    sources: IdentitySources, *, name: Name, role: KeyRole = "write", namespace: Of = (), dataset: Over = (),
    expires: Lasts = "365d",
) -> shapes.KeyMade:  # fmt: skip
    """Make a key and show its secret, once. A name may have two valid keys, for an exchange."""
    wanted = WantedKey(name, [role], namespace, dataset, expires or "365d")
    return msgspec.convert(sources.keys.add(sources.caller, wanted), shapes.KeyMade)


@question("keys/{which}/revoke", called="revoke", method="POST")
def revoke_key(sources: IdentitySources, *, which: IdOrName) -> shapes.KeysRevoked:
    """Take keys back, from the next second on; others than admins their own."""
    return msgspec.convert({"items": sources.keys.revoke(sources.caller, which)}, shapes.KeysRevoked)


@question("keys/{which}/assign", called="assign", method="POST", role="admin")
def assign_key(
    sources: IdentitySources, *, which: IdOrName, subject: Subject, issuer: OwnersIssuer = None, name: OwnersName = None
) -> shapes.KeysAssigned:
    """Make a person the owner of keys: from then on that person lists and revokes them, and no other."""
    return msgspec.convert({"items": sources.keys.assign(which, subject, issuer, name)}, shapes.KeysAssigned)


@question("admin-log", reads_lake=True, role="admin")
def admin_log(sources: IdentitySources, *, since: p.Since = None, page: NewestPage) -> shapes.AdminActs:
    """List who changed what, newest first: keys, tags, deletions, redrives, retries."""
    found = admin_rows(sources.admin_log, page, since_us=since)
    items = [{**row, "at": row["at"].isoformat().replace("+00:00", "Z")} for row in found.rows]
    return msgspec.convert({"items": items, **found.told}, shapes.AdminActs)
