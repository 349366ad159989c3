"""Why a statement's columns stay unknown: a reason that people read beside `unknown`."""


class UnreadSql(Exception):
    """The statement is not read; its text says why, without quoting values of the statement."""


def shown(name: str) -> str:
    """Return a name as a reason quotes it."""
    return name if len(name) <= _LONGEST else name[:_LONGEST] + "…"


HIDDEN_NAMES = "it takes columns by a pattern, whose names are not read"

_LONGEST = 80
