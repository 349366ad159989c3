"""Answers about keys and about who changed what."""

from msgspec import field

from headwater.questions.answers.answer_parts import AnswerStruct, ListAnswer, Time


class KeyShown(AnswerStruct):
    """A key, without its hash. last_used: to ten minutes; kept: in the file, or in the settings.

    owner: the owner's name for display, `unassigned` without one; `owner_issuer` and `owner_subject` identify the
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
    """Keys: all of them to an admin, to others their own."""

    items: list[KeyShown]


class KeysRevoked(AnswerStruct):
    """Keys that were taken back."""

    items: list[KeyShown]


class KeysAssigned(AnswerStruct):
    """Keys that have another owner now."""

    items: list[KeyShown]


class KeyMade(KeyShown):
    """A key that was made now; `key` is its secret, shown this once."""

    secret: str = field(name="key")


class AdminAct(AnswerStruct):
    """Something that somebody changed."""

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
    """Acts, newest first."""

    items: list[AdminAct]
