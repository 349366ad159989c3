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
        self._verdicts: dict[tuple[str | None, str], list[Any] | None] = {}

    def look(self, called: str) -> PresentTable | None:
        """Return a table by what a change calls it: as it is, else in lower or in upper case."""
        for name in dict.fromkeys((called, called.casefold(), called.upper())):
            verdicts = self.verdicts(self._namespace, name)
            if verdicts is not None:
                return self._table(name, verdicts)
        return None

    def verdicts(self, namespace: str | None, dataset: str) -> list[Any] | None:
        """Return what is known of the use of each column of a dataset, None where the dataset is not known."""
        key = namespace, dataset
        if key not in self._verdicts:
            asked = {"dataset": dataset, "limit": MOST} | ({"namespace": namespace} if namespace else {})
            try:
                self._verdicts[key] = self._ask("unused", asked)["items"]
            except (NotKnown, ServerRefusal) as error:
                if not is_unknown(error):
                    raise
                self._verdicts[key] = None
            except WrongQuestion as error:
                raise WrongQuestion(f"{error} For all names: --namespace NAMESPACE.") from error
        return self._verdicts[key]

    def _table(self, called: str, verdicts: list[Any]) -> PresentTable:
        if not verdicts:  # without a schema; lineage may know its columns
            asked = {"dataset": called, "depth": "1", "limit": "1"}
            asked |= {"namespace": self._namespace} if self._namespace else {}
            found = self._ask("impact", asked)["column"]
            return PresentTable(found["namespace"], found["dataset"], {})
        namespace, dataset = verdicts[0]["namespace"], verdicts[0]["dataset"]
        types = self._types(namespace, dataset)
        columns = {each["column"]: types.get(each["column"].casefold()) for each in verdicts}
        return PresentTable(namespace, dataset, columns)

    def _types(self, namespace: str, dataset: str) -> dict[str, str]:
        """Return types by columns, as the newest schema facet has them, as far as it is among those that are found."""
        for item in self._ask("facets", {"entity": "dataset", "name": "schema", "text": dataset[:200]})["items"]:
            if (item["namespace"], item["name"]) == (namespace, dataset):
                return dict(_fields(item["facet"].get("fields"), ""))
        return {}


def _fields(listed: Any, before: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            name = before + each["name"]
            if isinstance(each.get("type"), str):
                found.append((name.casefold(), each["type"]))
            found += _fields(each.get("fields"), f"{name}.")
    return found
