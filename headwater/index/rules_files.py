"""The folder of the user's rules. Changed files are read again. If a file is invalid, its last valid rules apply."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from headwater.common.errors import LakeUnavailable, WrongSetting
from headwater.lineage.names.canonical_names import NameRules, default_rules
from headwater.lineage.names.metadata_table import MetadataRow, metadata_rows, read_metadata
from headwater.lineage.rules.owner_rules import read_owners
from headwater.lineage.rules.shown_rules import read_links, read_system
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.rules.user_rules_text import (
    read_constants,
    read_consumers,
    read_masking,
    read_rewrites,
    read_tags,
)

NAMES, METADATA, JOBS = "names.yaml", "metadata.csv", "jobs.yaml"
METADATA_TABLE = "metadata"
"""A Delta table that can replace or extend the file `metadata.csv`, for users who already have one."""
_TABLE_LOG = f"{METADATA_TABLE}/_delta_log"
READERS: dict[str, Callable[[str, str], Any]] = {
    "tags": read_tags,
    "masking": read_masking,
    "constants": read_constants,
    "rewrites": read_rewrites,
    "consumers": read_consumers,
    "system": read_system,
    "links": read_links,
    "owners": read_owners,
}
FILES = (NAMES, JOBS, METADATA, *(f"{part}.yaml" for part in READERS))

_Stamp = tuple[int, int, int] | None


class RulesFiles:
    """The rules of one folder. All files are optional. Not thread-safe."""

    def __init__(self, folder: Path, window_us: int | None = None) -> None:
        """folder: the folder of the rules. `current_rules` reads its files. window_us: as in `UserRules`."""
        self._folder = folder
        self._window_us = window_us
        self._paths = [str(folder / file) for file in (*FILES, _TABLE_LOG)]
        self._stamps: list[_Stamp] = []
        self._parts: dict[str, Any] = {}
        self._rules = UserRules()
        self._problems: list[str] = []

    @property
    def problems(self) -> list[str]:
        """Messages about the problems in the current files. Each names the file, line, rule and the expected value."""
        return list(self._problems)

    def current_rules(self) -> UserRules:
        """Return the active rules. If a file has changed since the last call, all files are read again first."""
        stamps = [_file_stamp(path) for path in self._paths]
        if stamps != self._stamps:
            self._problems = []
            self._read_part("names", self._read_name_rules)
            for part, read in READERS.items():
                self._read_part(part, partial(self._parse_file, f"{part}.yaml", read))
            self._stamps = stamps
            self._rules = UserRules(**self._parts, window_us=self._window_us, tags_file=str(self._folder / "tags.yaml"))
        return self._rules

    def _read_part(self, part: str, read: Callable[[], Any]) -> None:
        try:
            self._parts[part] = read()
        except WrongSetting as error:
            stays = "Its last good rules stay in force." if part in self._parts else "None of its rules are in force."
            self._problems.append(f"{error} {stays}")

    def _read_name_rules(self) -> NameRules:
        texts, rows = {file: self._file_text(file) for file in (NAMES, JOBS)}, self._read_metadata()
        if not rows and not any(text is not None for text in texts.values()):
            return default_rules()
        names, jobs = ([(file, text)] if text is not None else [] for file, text in texts.items())
        return NameRules(names, rows, jobs)

    def _read_metadata(self) -> tuple[MetadataRow, ...]:
        text = self._file_text(METADATA)
        rows = read_metadata(text, METADATA) if text is not None else ()
        if not (self._folder / _TABLE_LOG).is_dir():
            return rows
        from deltalake import DeltaTable  # noqa: PLC0415 - most folders have no such table
        from deltalake.exceptions import DeltaError  # noqa: PLC0415

        from headwater.lake.queries import run_query  # noqa: PLC0415

        try:
            found = run_query(DeltaTable(str(self._folder / METADATA_TABLE)), "SELECT * FROM t").to_pylist()
        except (DeltaError, LakeUnavailable, OSError) as error:
            raise WrongSetting(f"{METADATA_TABLE}: cannot be read as a Delta table: {error}; correct it.") from error
        return rows + metadata_rows(found, METADATA_TABLE)

    def _parse_file(self, file: str, read: Callable[[str, str], Any]) -> Any:
        text = self._file_text(file)
        return () if text is None else read(text, file)

    def _file_text(self, file: str) -> str | None:
        try:
            return (self._folder / file).read_text("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise WrongSetting(f"{file}: cannot be read: {error}; correct or remove it.") from error


def _file_stamp(path: str) -> _Stamp:
    try:
        found = os.stat(path)  # noqa: PTH116 - called for each file with every question, and Path.stat is slower
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
