"""Current tables: names are resolved as in questions, and columns have their types."""

from collections.abc import Callable, Mapping
from typing import Any

from headwater.common.errors import HeadwaterError, NotKnown, ServerRefusal, WrongQuestion
from headwater.governance.planning.planned_schema import PresentTable

Ask = Callable[[str, Mapping[str, str]], Any]
"""Asks a question by its path; returns the answer as JSON."""

MAX_ITEMS = "10000"


def is_unknown(error: HeadwaterError) -> bool:
    """Return whether a question failed because the name is unknown."""
    return isinstance(error, NotKnown) or (isinstance(error, ServerRefusal) and "nearest" in error.body)


class PresentTables:
    """Known facts of tables, each requested once."""

    def __init__(self, ask: Ask, namespace: str | None):
        """namespace: default for names without one."""
        self._ask, self._namespace = ask, namespace
        self._answers: dict[tuple[str | None, str], Any] = {}

    def look(self, table_name: str) -> PresentTable | None:
        """Return a table by its name in a change.

        The name is tried as written, in lower and upper case, without its catalog, and as an address.
        """
        names = (table_name, table_name.casefold(), table_name.upper(), _without_catalog(table_name))
        asked = [(self._namespace, name) for name in names]
        if "/" in table_name:
            asked.append((None, table_name))
        for namespace, name in dict.fromkeys(asked):
            verdicts = self.verdicts(namespace, name)
            if verdicts is not None:
                return self._table(namespace, name, verdicts)
        return None

    def verdicts(self, namespace: str | None, dataset: str) -> list[Any] | None:
        """Return the verdict of each column of a dataset, None if the dataset is unknown."""
        answer = self._answer(namespace, dataset)
        return None if answer is None else answer["items"]

    def readers(self, namespace: str | None, dataset: str) -> list[Any]:
        """Return the jobs that read a dataset, none if it is unknown."""
        answer = self._answer(namespace, dataset)
        return [] if answer is None else [job for each in answer["readers"] for job in each["jobs"]]

    def presumed_retired(self, namespace: str | None, dataset: str) -> list[Any]:
        """Return the readers that are presumed retired."""
        answer = self._answer(namespace, dataset)
        found = [] if answer is None else answer["readers"]
        return [job for each in found for job in each.get("presumed_retired", ())]

    def _answer(self, namespace: str | None, dataset: str) -> Any:
        key = namespace, dataset
        if key not in self._answers:
            asked = {"dataset": dataset, "limit": MAX_ITEMS} | ({"namespace": namespace} if namespace else {})
            try:
                self._answers[key] = self._ask("unused", asked)
            except (NotKnown, ServerRefusal) as error:
                if not is_unknown(error):
                    raise
                self._answers[key] = None
            except WrongQuestion as error:
                raise WrongQuestion(f"{error} --namespace NAMESPACE applies to all names of the change.") from error
        return self._answers[key]

    def _table(self, namespace: str | None, table_name: str, verdicts: list[Any]) -> PresentTable:
        """Return a table with its columns, from schemas, lineage and SQL, and their types."""
        asked = {"dataset": table_name} | ({"namespace": namespace} if namespace else {})
        found = self._ask("contract", asked)
        types = {each["name"]: each["type"] for each in found["columns"]}
        columns = {each["column"]: types.get(each["column"]) for each in verdicts}
        known = {each.casefold() for each in columns}
        columns |= dict.fromkeys(each for each in self._in_lineage(found["dataset"]) if each.casefold() not in known)
        named = found["dataset"]
        return PresentTable(named["namespace"], named["dataset"], columns, named.get("display_name"))

    def _in_lineage(self, table: Any) -> list[str]:
        """Return the columns that lineage or SQL of newest executions names.

        Lists of documented columns lack some of them.
        """
        asked = {"namespace": table["namespace"], "dataset": table["dataset"]}
        asked |= {"depth": "1", "mode": "any", "view": "newest", "limit": MAX_ITEMS}
        steps = [each["via"] for question in ("impact", "upstream") for each in self._ask(question, asked)["columns"]]
        own = (table["namespace"], table["dataset"])
        named = {each["column"] for each in steps if (each["namespace"], each["dataset"]) == own}
        return sorted(named - {None})


def _without_catalog(table_name: str) -> str:
    """Return the end of a path for a name with a catalog: `catalog.silver.orders` may be the folder `silver/orders`."""
    return table_name if "/" in table_name else "/".join(table_name.split(".")[-2:])
