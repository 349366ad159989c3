"""Where the index lies: a file for each set of name rules, and the name of the one that questions read."""

from pathlib import Path

from headwater.errors import LakeUnavailable
from headwater.index.database import FORMAT, remove
from headwater.lineage.names import NameRules


class IndexHome:
    """The folder of the index. One process writes it, any number reads."""

    def __init__(self, folder: Path):
        """Touch nothing yet."""
        self._folder = folder
        self._pointer = folder / "current"

    def path_for(self, rules: NameRules) -> Path:
        """Return the file that belongs to these rules for names."""
        return self._folder / f"{FORMAT}-{rules.rules_hash[:16]}.sqlite"

    def switch(self, path: Path) -> None:
        """Let questions read this file from now on; the others go."""
        fresh = self._pointer.with_suffix(".new")
        fresh.write_text(path.name + "\n")
        fresh.replace(self._pointer)
        for other in self._folder.glob("*.sqlite"):
            if other != path:
                remove(other)

    def is_current(self, path: Path) -> bool:
        """Tell whether questions read this file already."""
        return self._pointer.exists() and self._pointer.read_text().strip() == path.name

    def current(self) -> Path:
        """Return the file to read; raises LakeUnavailable before the first is built."""
        try:
            return self._folder / self._pointer.read_text().strip()
        except OSError as error:
            raise LakeUnavailable("The index of the lake is still being built. Ask again in a moment.") from error
