"""The reasons why the columns of a statement are not read. Answers show them in `unread`."""


class UnreadSql(Exception):
    """A statement is not read. The text of the exception is the reason; it contains no values of the statement."""


def shown(name: str) -> str:
    """Return a name for use in a reason, cut to 80 characters."""
    return name if len(name) <= _LONGEST else name[:_LONGEST] + "…"


HIDDEN_NAMES = "it takes columns by a pattern, whose names are not read"

_LONGEST = 80
