"""The version of the rules' code: one hash over the sources that decide the rows of index, silver and gold.

Which sources these are follows from their imports, so that a new module counts by itself. The same sources give the
same hash wherever they lie, in a folder or in an archive, and whatever a system ends its lines with.
"""

import re
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

ROOTS = ("headwater.index.writing.indexer", "headwater.spark.refresh")
"""What derives rows from events; questions, which work on these rows, may change without building them anew."""

_ELSEWHERE = (
    "errors",
    "failpoints",
    "garbage_collection",
    "lake.",
    "spark.one_pass",
    "spark.delta.layer_maintenance",
    "storage_faults",
)
NO_RULES = tuple(f"headwater.{name}" for name in _ELSEWHERE)
"""What is said and how bytes are kept, but not what rows there are."""

_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+headwater\.([\w.]+)", re.MULTILINE)


@cache
def code_hash() -> str:
    """Return the hash; costs about 20 ms, once."""
    digest = sha256()
    for module, source in sorted(rule_code().items()):
        digest.update(b"%s %d\n%s" % (module.encode(), len(source), source))
    return digest.hexdigest()[:32]


def rule_code() -> dict[str, bytes]:
    """Return the source of each module that decides rows, its lines ended by a line feed."""
    found: dict[str, bytes] = {}
    waiting = list(ROOTS)
    while waiting:
        module = waiting.pop()
        if module not in found and not module.startswith(NO_RULES):
            found[module] = _file(module).read_bytes().replace(b"\r\n", b"\n")
            waiting += _imports(found[module])
    return found


def _imports(source: bytes) -> Iterator[str]:
    return (f"headwater.{name.decode()}" for name in _IMPORT.findall(source))


def _file(module: str) -> Traversable:
    *folders, name = module.split(".")[1:]
    at = files("headwater").joinpath(*folders)
    file = at.joinpath(f"{name}.py")
    return file if file.is_file() else at.joinpath(name, "__init__.py")
