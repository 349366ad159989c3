"""Rule 13.8: record which column references and stars of a script were followed.

If a reference was not followed, the datasets that its statement names stay opaque.
"""

from sqlglot import exp

from headwater.lineage.sql.column_steps import Made, Origin


class References:
    """Collects the references that were followed to a source column, or that name a column of the output.

    origins: the columns of datasets that the script names, in contrast to those that only a star selects.
    patterns: the number of expressions that select columns by a pattern of their names.
    has_places: `$2` is the second column of a table, as in Snowflake. In other dialects it is a parameter.
    """

    def __init__(self, dialect: str = "") -> None:
        self._read: dict[int, exp.Expr] = {}
        self.origins: set[Origin] = set()
        self.patterns = 0
        self.has_places = dialect == "snowflake"

    def follow(self, reference: exp.Expr, made: Made) -> None:
        """Record a reference to a column, and the columns of datasets from which it comes."""
        self.read(reference)
        self.origins.update(made)

    def read(self, reference: exp.Expr) -> None:
        """Record a reference as followed."""
        self._read[id(reference)] = reference  # stored, so that no other object gets the same id

    def read_all(self, node: object) -> None:
        """Record all references in a part of a statement, or in a list of parts."""
        for each in node if isinstance(node, list) else [node]:
            if isinstance(each, exp.Expr):
                self._read.update((id(one), one) for one in each.find_all(exp.Column, exp.Star))

    def unread(self, statement: exp.Expr) -> bool:
        """Return whether a statement has a reference that was not followed."""
        every = statement.find_all(exp.Column, exp.Star)
        return any(id(each) not in self._read and not _is_of_column(each) for each in every)


def _is_of_column(reference: exp.Expr) -> bool:
    """Return whether this is the star of `t.*`, where the column around it is the reference."""
    return isinstance(reference, exp.Star) and isinstance(reference.parent, exp.Column)
