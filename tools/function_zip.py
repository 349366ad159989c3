"""Build a reproducible deployment package of the Function App: `python -m tools.function_zip`.

`--app receiver` builds the package of the receiver app, which contains only the modules that its triggers import and
installs a fifth of the packages. `--folders` writes both packages as folders, which azd deploys.
"""

import argparse
import ast
import hashlib
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "dist" / "function-app.zip"
RECEIVER = ROOT / "dist" / "receiver-app.zip"

PIPELINE_FOLDER = ROOT / "dist" / "function-app"
RECEIVER_FOLDER = ROOT / "dist" / "receiver-app"
"""The folders that `azure.yaml` names; azd packages everything in them."""

DASHBOARD = ROOT / "headwater" / "api" / "web" / "assets" / "index.html"

SHIPPED = (
    "function_app.py",
    "host.json",
    "requirements.txt",
    "LICENSE",
    "functions/**/*.py",
    "headwater/__init__.py",
    "headwater/api/**/*.py",
    "headwater/api/docs.html",
    "headwater/api/web/assets/**/*",
    "headwater/auth/*.py",
    "headwater/common/*.py",
    "headwater/events/*.py",
    "headwater/governance/*.py",
    "headwater/governance/contracts/*.py",
    "headwater/index/**/*.py",
    "headwater/intake/**/*.py",
    "headwater/lake/*.py",
    "headwater/lineage/**/*.py",
    "headwater/lineage/names/*.yaml",
    "headwater/lineage/rules/shown_rules.yaml",
    "headwater/operations/__init__.py",
    "headwater/operations/settings.py",
    "headwater/operations/runtime/*.py",
    "headwater/questions/**/*.py",
    "headwater/sinks/**/*.py",
    "headwater/sinks/targets/purview/names.yaml",
    "headwater/spark/**/*.py",  # never imported, but the hash that is the version of the rules covers these files
    "headwater/tables/*.py",
)
"""All deployed files; the zip files and the folders for azd are built from this list."""

LEFT_OUT = (
    "headwater/intake/event_log/kafka_log.py",  # the app uses AMQP
    "headwater/intake/event_log/kafka_[cfir]*.py",
    "headwater/sinks/control/replay.py",  # for the command line
    "headwater/events/*validation.py",  # for the command line, with the schemas of the specification
)

_OF_THE_RECEIVER = ("function_app.py", "functions/__init__.py", "functions/receiver/__init__.py")
"""The modules where the receiver's imports start; the app imports the blueprint of a trigger by its name."""
_BESIDE_CODE = ("LICENSE", "host.json", "requirements.txt")
_PINNED = {"requirements.txt": "locks/receiver.txt"}

_TIME = (1980, 1, 1, 0, 0, 0)


def shipped(root: Path = ROOT) -> list[str]:
    """Return the files of the package, sorted by their path in it."""
    included, left_out = (
        {path for pattern in patterns for path in root.glob(pattern)} for patterns in (SHIPPED, LEFT_OUT)
    )
    return sorted(path.relative_to(root).as_posix() for path in included - left_out if path.is_file())


def receiver_shipped(root: Path = ROOT) -> list[str]:
    """Return the files of the receiver's package: everything that its triggers import, including inside functions."""
    known, found, waiting = set(shipped(root)), set[str](), list(_OF_THE_RECEIVER)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [file for module in imports(root / name) for file in _files(module) if file in known]
    return sorted(found | set(_BESIDE_CODE))


def imports(path: Path) -> Iterator[str]:
    """Yield every module that a file imports, including inside functions, and the names imported from it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def write_package(target: Path, root: Path = ROOT) -> str:
    """Write the package of the whole app and return its SHA-256."""
    return _write(target, {name: root / name for name in shipped(root)})


def write_receiver(target: Path, root: Path = ROOT) -> str:
    """Write the package of the receiver app and return its SHA-256."""
    return _write(target, {name: root / _PINNED.get(name, name) for name in receiver_shipped(root)})


def write_folders(root: Path = ROOT) -> dict[Path, int]:
    """Write both packages as new folders; returns the number of files in each."""
    contents = {
        PIPELINE_FOLDER: {name: name for name in shipped(root)},
        RECEIVER_FOLDER: {name: _PINNED.get(name, name) for name in receiver_shipped(root)},
    }
    for folder, files in contents.items():
        target = root / folder.relative_to(ROOT)
        shutil.rmtree(target, ignore_errors=True)
        for name, origin in files.items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / origin, target / name)
    return {folder: len(files) for folder, files in contents.items()}


def _files(module: str) -> Iterator[str]:
    """Yield the files that the import of a module may run."""
    parts = module.split(".")
    yield "/".join(parts) + ".py"
    yield from ("/".join(parts[:count]) + "/__init__.py" for count in range(1, len(parts) + 1))


def _write(target: Path, files: dict[str, Path]) -> str:
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as package:
        for name, path in files.items():
            entry = zipfile.ZipInfo(name, _TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            package.writestr(entry, path.read_bytes())
    return hashlib.sha256(target.read_bytes()).hexdigest()


def main() -> None:
    """Write the package and print its size and hash."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?", type=Path)
    parser.add_argument("--app", choices=("all", "receiver"), default="all")
    parser.add_argument("--folders", action="store_true", help="write both packages as folders, for azd")
    chosen = parser.parse_args()
    if not DASHBOARD.exists() and (chosen.folders or chosen.app == "all"):
        sys.exit("The dashboard is not built, and the package contains it. Run `make web` (it needs Node 20) first.")
    if chosen.folders:
        for folder, count in write_folders().items():
            print(f"{folder}: {count} files")
        return
    if chosen.app == "receiver":
        target, names = chosen.target or RECEIVER, receiver_shipped()
        digest = write_receiver(target)
    else:
        target, names = chosen.target or PACKAGE, shipped()
        digest = write_package(target)
    print(f"{target}: {len(names)} files, {target.stat().st_size / 1e3:.0f} KB, sha256 {digest}")


if __name__ == "__main__":
    main()
