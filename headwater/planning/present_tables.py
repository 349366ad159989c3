"""Tables as a Headwater knows them: names resolved as its questions resolve them, columns with their types."""

from collections.abc import Callable, Mapping
from typing import Any

from headwater.errors import HeadwaterError, NotKnown, ServerRefusal, WrongQuestion
from headwater.planning.planned_schema import PresentTable

Ask = Callable[[str, Mapping[str, str]], Any]
"""Asks a question by its path; returns the answer as JSON has it."""

MOST = "10000"


def is_unknown(error: HeadwaterError) -> bool:
    """Tell whether a question was refused because nothing of the name is known."""
    return isinstance(error, NotKnown) or (isinstance(error, ServerRefusal) and "nearest" in error.said)


class PresentTables:
    """What is known of tables, each asked for once."""

    def __init__(self, ask: Ask, namespace: str | None):
        """namespace: of names that say none."""
        self._ask, self._namespace = ask, namespace
        self._answers: dict[tuple[str | None, str], Any] = {}

    def look(self, called: str) -> PresentTable | None:
        """Return a table by what a change calls it: as it is, in either case, without catalog, by its address."""
        names = (called, called.casefold(), called.upper(), _without_catalog(called))
        asked = [(self._namespace, name) for name in names]
        if "/" in called:
            asked.append((None, called))
        for namespace, name in dict.fromkeys(asked):
            verdicts = self.verdicts(namespace, name)
            if verdicts is not None:
                return self._table(namespace, name, verdicts)
        return None

    def verdicts(self, namespace: str | None, dataset: str) -> list[Any] | None:
        """Return what is known of the use of each column of a dataset, None where the dataset is not known."""
        answer = self._answer(namespace, dataset)
        return None if answer is None else answer["items"]

    def readers(self, namespace: str | None, dataset: str) -> list[Any]:
        """Return the jobs that read a dataset, none where it is not known."""
        answer = self._answer(namespace, dataset)
        return [] if answer is None else [job for each in answer["readers"] for job in each["jobs"]]

    def presumed_retired(self, namespace: str | None, dataset: str) -> list[Any]:
        """Return the jobs among the readers that are presumed retired."""
        answer = self._answer(namespace, dataset)
        found = [] if answer is None else answer["readers"]
        return [job for each in found for job in each.get("presumed_retired", ())]

    def _answer(self, namespace: str | None, dataset: str) -> Any:
        key = namespace, dataset
        if key not in self._answers:
            asked = {"dataset": dataset, "limit": MOST} | ({"namespace": namespace} if namespace else {})
            try:
                self._answers[key] = self._ask("unused", asked)
            except (NotKnown, ServerRefusal) as error:
                if not is_unknown(error):
                    raise
                self._answers[key] = None
            except WrongQuestion as error:
                raise WrongQuestion(f"{error} For all names: --namespace NAMESPACE.") from error
        return self._answers[key]

    def _table(self, namespace: str | None, called: str, verdicts: list[Any]) -> PresentTable:
        """Return a table with the types of its columns, whether a schema, lineage or SQL names them."""
        asked = {"dataset": called} | ({"namespace": namespace} if namespace else {})
        found = self._ask("contract", asked)
        types = {each["name"]: each["type"] for each in found["columns"]}
        columns = {each["column"]: types.get(each["column"]) for each in verdicts}
        known = {each.casefold() for each in columns}
        columns |= dict.fromkeys(each for each in self._in_lineage(found["dataset"]) if each.casefold() not in known)
        named = found["dataset"]
        return PresentTable(named["namespace"], named["dataset"], columns, named.get("display_name"))

    def _in_lineage(self, table: Any) -> list[str]:
        """Return the columns of a table that newest executions name: a list of documented columns lacks some of them.

        SQL names them, too, where no producer reports lineage.
        """
        asked = {"namespace": table["namespace"], "dataset": table["dataset"]}
        asked |= {"depth": "1", "mode": "any", "view": "newest", "limit": MOST}
        steps = [each["via"] for question in ("impact", "upstream") for each in self._ask(question, asked)["columns"]]
        own = (table["namespace"], table["dataset"])
        named = {each["column"] for each in steps if (each["namespace"], each["dataset"]) == own}
        return sorted(named - {None})


def _without_catalog(called: str) -> str:
    """Return the end of the path that `catalog.silver.orders` may lie at; another catalog's table is another one."""
    return called if "/" in called else "/".join(called.split(".")[-2:])
