"""A small file beside the tables of a lake at an address, read by whoever may read the lake."""

import time
from collections.abc import Mapping

from headwater.errors import LakeUnavailable, WrongSetting
from headwater.storage_faults import explain


class LakeFile:
    """One file at `abfss://container@account.dfs.core.windows.net/path`. Not for several threads at once."""

    def __init__(self, address: str, options: Mapping[str, str], look_every_s: float = 0.0) -> None:
        """Ask for nothing yet. options: storage options of delta-rs; look_every_s: least time between two requests."""
        self._root, _, self.name = address.rpartition("/")
        self._options = dict(options)
        self._look_every_s = look_every_s
        self._looked: float | None = None
        self._text: str | None = None

    def stamp(self) -> str | None:
        """Return what changes with the file, None where there is none: all of it, which is asked for now and then.

        Raises LakeUnavailable, WrongSetting.
        """
        if self._looked is None or time.monotonic() >= self._looked + self._look_every_s:
            self._text = self._read()
            self._looked = time.monotonic()
        return self._text

    def text(self) -> str | None:
        """Return the file's text as it was at the last look; raises as `stamp` does."""
        return self.stamp() if self._looked is None else self._text

    def _read(self) -> str | None:
        from deltalake.exceptions import DeltaError  # noqa: PLC0415 - who has no such file imports none of this
        from deltalake.fs import DeltaStorageHandler  # noqa: PLC0415

        try:
            with DeltaStorageHandler(self._root, self._options).open_input_file(self.name) as file:
                return bytes(file.read()).decode()
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise WrongSetting(f"{self.name}: cannot be read: {error}; correct or remove it.") from error
        except (DeltaError, OSError) as error:
            raise LakeUnavailable(f"Cannot read {self._root}/{self.name}: {explain(error, 'sinks')}") from error
