"""Names that are no dataset of a run: views that no statement of its script defines."""

from headwater.lineage.inferring.column_steps import CHANGED, Made, Origin, Relation
from headwater.lineage.inferring.known_tables import KnownTables
from headwater.lineage.inferring.unread_sql import UnreadSql, shown


def view_of_hidden(tables: KnownTables) -> tuple[Relation, set[int]]:
    """Return a view over the inputs that no name of the script means, and the places of those whose columns are known.

    A column of it is known where one of them alone has it: listeners tell which datasets are behind a view, and nobody
    tells what it makes of them. All such names of a script share this one.
    """
    owners: dict[str, list[Origin]] = {}
    for place in tables.hidden():
        for column in tables.tables[place].columns:
            owners.setdefault(column.casefold(), []).append((place, column))

    def refuse(column: str) -> Made:
        raise UnreadSql(f"{shown(column)} of a view that it does not show may be of no dataset, or of several")

    alone = [(of[0][1], {of[0]: {CHANGED}}) for of in owners.values() if len(of) == 1]
    return Relation(fields=alone, otherwise=refuse), {place for of in owners.values() for place, _ in of}
