"""The reasons why Headwater does not read the columns of a statement. Answers contain the reason in `unread`."""


class UnsupportedSql(Exception):
    """Raised if Headwater does not read a statement. The message is the reason, without literals of the statement."""


def shorten_name(name: str) -> str:
    """Return a name for the text of a reason, truncated after 80 characters."""
    return name if len(name) <= _MAX_LENGTH else name[:_MAX_LENGTH] + "…"


HIDDEN_NAMES = "the SQL selects columns by a pattern, which Headwater does not support"
STAR_OF_UNKNOWN_TABLE = "the SQL uses `*` for a table, but no event of the run reports the columns of this table"

_MAX_LENGTH = 80
