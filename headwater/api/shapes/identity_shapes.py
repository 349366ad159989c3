"""Answers about keys and the admin log."""

from msgspec import field

from headwater.questions.answers.answer_parts import AnswerStruct, ListAnswer, Time


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
