"""Table `names`: the numbers that the other tables store instead of names."""

import sqlite3

from headwater.lineage.names.dataset_name import Name


class NameNumbers:
    """All names and their numbers, in memory."""

    def __init__(self, connection: sqlite3.Connection):
        self._connection = connection
        self._numbers: dict[Name, int] = {}
        self._names: dict[int, Name] = {}
        self._generations: dict[Name, list[Name]] = {}
        self._newest = 0
        self._before = self._last = 0
        self.refresh()

    def refresh(self) -> None:
        """Read the names that were added since the last call."""
        rows = self._connection.execute(
            "SELECT id, namespace, name, generation FROM names WHERE id > ?", (self._newest,)
        )
        for number, *parts in rows:
            self._newest = max(self._newest, number)
            self._keep(Name(*parts), number)

    def begin(self) -> None:
        """Begin a batch. Names that are known now are not new in it."""
        self._before = self._last

    def is_new(self, number: int) -> bool:
        """Return whether the current batch was the first to use a name."""
        return number > self._before

    def number(self, name: Name) -> int:
        """Return the number of a name. A new name is stored and gets a number."""
        found = self._numbers.get(name)
        if found is None:
            cursor = self._connection.execute("INSERT INTO names(namespace, name, generation) VALUES (?, ?, ?)", name)
            found = int(cursor.lastrowid or 0)
            self._keep(name, found)
        return found

    def generations(self, name: Name) -> list[Name]:
        """Return the known generations of a dataset name (rule 10)."""
        return self._generations.get(name.plain, [])

    def _keep(self, name: Name, number: int) -> None:
        self._last = max(self._last, number)
        self._numbers[name] = number
        self._names[number] = name
        self._generations.setdefault(name.plain, []).append(name)

    def known(self, name: Name) -> int | None:
        """Return the number of a name, or None if it is not stored."""
        return self._numbers.get(name)

    def name(self, number: int) -> Name:
        """Return the name for a number. Raises KeyError if there is none."""
        return self._names[number]
