"""Rule 13.4: names in SQL that are not datasets of the run are treated as views."""

from headwater.lineage.sql.column_steps import CHANGED, Made, Origin, Relation
from headwater.lineage.sql.known_tables import KnownTables
from headwater.lineage.sql.unread_sql import UnreadSql, shown


def view_of_hidden(tables: KnownTables) -> tuple[Relation, set[int]]:
    """Return one view over all inputs that the script does not name, and the indexes of those inputs that have columns.

    Listeners report the datasets behind a view, but not its definition. So a column of the view is the column of that
    name if exactly one of these inputs has it. Otherwise reading it raises UnreadSql. All unknown names of a script
    share this view.
    """
    owners: dict[str, list[Origin]] = {}
    for place in tables.hidden():
        for column in tables.tables[place].columns:
            owners.setdefault(column.casefold(), []).append((place, column))

    def refuse(column: str) -> Made:
        raise UnreadSql(
            f"the SQL reads column {shown(column)} of a view whose definition is unknown, and none or several of the "
            "inputs that the SQL does not name have a column of this name"
        )

    alone = [(of[0][1], {of[0]: {CHANGED}}) for of in owners.values() if len(of) == 1]
    return Relation(fields=alone, otherwise=refuse), {place for of in owners.values() for place, _ in of}
