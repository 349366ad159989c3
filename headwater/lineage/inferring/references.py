"""Which column references and stars of a script were read: of the others nobody knows what they are for."""

from sqlglot import exp

from headwater.lineage.inferring.column_steps import Made, Origin


class References:
    """Collects the references that were followed to a column, or that mean a column of what is written."""

    def __init__(self, dialect: str = "") -> None:
        """Have read none.

        dialect: in Snowflake's, `$2` is the second column of a table, elsewhere a parameter. origins: the columns of
        datasets that were named, not only taken by a star. patterns: how many expressions stand for the columns whose
        names match a pattern.
        """
        self._read: dict[int, exp.Expr] = {}
        self.origins: set[Origin] = set()
        self.patterns = 0
        self.has_places = dialect == "snowflake"

    def follow(self, reference: exp.Expr, made: Made) -> None:
        """Note a column that was followed to the columns of datasets that it is made of."""
        self.read(reference)
        self.origins.update(made)

    def read(self, reference: exp.Expr) -> None:
        """Note a reference that was followed."""
        self._read[id(reference)] = reference  # kept, so that no other gets its id

    def read_all(self, node: object) -> None:
        """Note all references in a part of a statement, or in a list of parts."""
        for each in node if isinstance(node, list) else [node]:
            if isinstance(each, exp.Expr):
                self._read.update((id(one), one) for one in each.find_all(exp.Column, exp.Star))

    def unread(self, statement: exp.Expr) -> bool:
        """Tell whether a statement has a reference that was not followed."""
        every = statement.find_all(exp.Column, exp.Star)
        return any(id(each) not in self._read and not _is_of_column(each) for each in every)


def _is_of_column(reference: exp.Expr) -> bool:
    """Tell whether it is the star of `t.*`: the column around it is the reference."""
    return isinstance(reference, exp.Star) and isinstance(reference.parent, exp.Column)
