"""The version of the rules' code: a hash over the sources that decide the rows of index, silver and gold.

This module follows the imports from `ROOT_MODULES`, so the hash includes new modules automatically. The hash does not
depend on line ends, or on whether the sources are in a folder or in an archive.
"""

import re
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

ROOT_MODULES = ("headwater.index.writing.indexer", "headwater.spark.refresh")
"""The modules that derive rows from events. Questions only read rows, so their code may change without a rebuild."""

_EXCLUDED = (
    "common.errors",
    "common.failpoints",
    "common.garbage_collection",
    "lake.",
    "spark.one_pass",
    "spark.delta.layer_maintenance",
    "common.storage_faults",
)
EXCLUDED_MODULES = tuple(f"headwater.{name}" for name in _EXCLUDED)
"""The prefixes of modules that affect messages and storage, but not the content of rows. The hash omits them."""

_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+headwater\.([\w.]+)", re.MULTILINE)


@cache
def rule_code_hash() -> str:
    """Return the hash of all sources in `rule_sources` as 32 hex digits. The first call takes about 20 ms."""
    digest = sha256()
    for module, source in sorted(rule_sources().items()):
        digest.update(b"%s %d\n%s" % (module.encode(), len(source), source))
    return digest.hexdigest()[:32]


def rule_sources() -> dict[str, bytes]:
    """Return the source of each module that decides rows, by module name, with line feeds as line ends."""
    found: dict[str, bytes] = {}
    waiting = list(ROOT_MODULES)
    while waiting:
        module = waiting.pop()
        if module not in found and not module.startswith(EXCLUDED_MODULES):
            found[module] = _source_file(module).read_bytes().replace(b"\r\n", b"\n")
            waiting += _imported_modules(found[module])
    return found


def _imported_modules(source: bytes) -> Iterator[str]:
    return (f"headwater.{name.decode()}" for name in _IMPORT.findall(source))


def _source_file(module: str) -> Traversable:
    *folders, name = module.split(".")[1:]
    at = files("headwater").joinpath(*folders)
    file = at.joinpath(f"{name}.py")
    return file if file.is_file() else at.joinpath(name, "__init__.py")
