"""The deployment package contains the files that the app needs and no others, and requirements for all
their imports.
"""

import hashlib
import re
import subprocess
import sys
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from headwater.intake.event_log.log_registry import LOGS
from headwater.questions.registry import QUESTIONS
from headwater.sinks.interface.target_registry import TARGETS
from tools.function_zip import ROOT, imports, receiver_shipped, shipped, write_package, write_receiver

SHIPPED = shipped()
NEVER_OPENED = (
    "headwater.intake.event_log.kafka",
    "headwater.sinks.control.replay",
)
"""Modules that `runtime/` imports only for the command line, or for a log that the app does not use."""
NOT_INSTALLED = {"botocore", "confluent-kafka", "google-auth"}
"""Packages for sinks to Kafka, to DataHub's topic, at AWS or Google. Error messages ask users to install them."""
HASHED = "headwater/spark/"
"""Shipped because the rules version is a hash of it, but never imported."""
OF_THE_RECEIVER = (ROOT / "tools" / "receiver-app.in").read_text()
REQUIRED = OF_THE_RECEIVER + (ROOT / "tools" / "function-app.in").read_text()
LOCKS = {name: (ROOT / name).read_text() for name in ("locks/dev.txt", "locks/functions.txt")}


def pinned(text: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==([^\s;]+)", text, re.MULTILINE))


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("packed") / "a.zip"
    write_package(target)
    return target


def test_the_same_files_make_the_same_bytes(packed: Path, tmp_path: Path) -> None:
    assert write_package(tmp_path / "b.zip") == hashlib.sha256(packed.read_bytes()).hexdigest()
    with zipfile.ZipFile(packed) as package:
        assert package.namelist() == sorted(SHIPPED)
        assert {entry.date_time for entry in package.infolist()} == {(1980, 1, 1, 0, 0, 0)}


_PARTS = """
import importlib.metadata
import sys

def read(group, found=importlib.metadata.entry_points):
    assert not group.startswith("headwater."), "entry points were read"
    return found(group=group)

sys.path[:0] = sys.argv[1:]
importlib.metadata.entry_points = read
import headwater
from headwater.intake.event_log.log_registry import LOGS
from headwater.questions.registry import QUESTIONS
from headwater.sinks.interface.target_registry import TARGETS

assert headwater.__file__.startswith(sys.argv[1]), headwater.__file__
print(*[name for registry in (LOGS, TARGETS, QUESTIONS) for name in registry.load_built_in()])
"""


@pytest.mark.slow
def test_the_packed_app_finds_every_built_in_part_without_metadata(packed: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(packed) as package:
        package.extractall(tmp_path)
    packages = str(Path(pytest.__file__).parents[1])
    # -S hides this repository's site packages
    command = [sys.executable, "-I", "-S", "-c", _PARTS, str(tmp_path), packages]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [*LOGS.built_in, *TARGETS.built_in, *QUESTIONS.built_in], done.stderr


@pytest.mark.slow
def test_every_module_that_is_imported_is_shipped() -> None:
    ours = {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in SHIPPED}
    known = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("headwater/**/*.py")}
    for name in SHIPPED:
        if name.endswith(".py"):
            for module in imports(ROOT / name):
                path = module.replace(".", "/")
                if f"{path}.py" in known or f"{path}/__init__.py" in known:
                    assert module in ours or module.startswith(NEVER_OPENED), f"{name} imports {module}"


def test_only_the_app_and_its_package_are_shipped() -> None:
    tops = {name.partition("/")[0] for name in SHIPPED}
    assert tops == {"function_app.py", "host.json", "requirements.txt", "LICENSE", "functions", "headwater"}
    assert "headwater/api/web/assets/index.html" in SHIPPED
    assert not [name for name in SHIPPED if name.startswith(("headwater/cli/", "headwater/operations/local/"))]


@pytest.mark.slow
def test_requirements_cover_every_import_and_nothing_more() -> None:
    required = pinned(REQUIRED)
    found = packages_distributions()
    needed = {"aiohttp"}  # azure-identity's asynchronous credentials import it
    for name in SHIPPED:
        for module in imports(ROOT / name) if name.endswith(".py") and not name.startswith(HASHED) else ():
            top = module.partition(".")[0]
            if top not in sys.stdlib_module_names and top not in ("headwater", "functions"):
                needed.add(distribution(module, found))
    assert needed - required.keys() == NOT_INSTALLED
    assert required.keys() - needed == set()


def distribution(module: str, found: dict[str, list[str]] | object) -> str:
    """Return the package that contains a module. All Azure packages share the name `azure`."""
    if module.startswith("azure.storage.filedatalake"):
        return "azure-storage-file-datalake"
    if module.startswith("azure."):
        return "-".join(module.split(".")[:3] if module.startswith("azure.storage") else module.split(".")[:2])
    assert isinstance(found, dict)
    return re.sub(r"[_.]", "-", str(found[module.partition(".")[0]][0]).lower())


def test_the_app_installs_the_versions_that_were_tested() -> None:
    required = pinned(REQUIRED)
    installed = pinned((ROOT / "requirements.txt").read_text())
    assert required.items() <= installed.items()
    developed, worker = pinned(LOCKS["locks/dev.txt"]), pinned(LOCKS["locks/functions.txt"])
    assert {name: worker[name] for name in installed} == installed
    shared = required.keys() & developed.keys() - {"azure-functions"}  # the lock file has one version for each Python
    assert {name: developed[name] for name in shared} == {name: required[name] for name in shared}
    assert f"azure-functions=={required['azure-functions']} ; python_full_version >= '3.13'" in (LOCKS["locks/dev.txt"])


@pytest.mark.slow
def test_the_receivers_package_installs_what_its_files_import_in_the_versions_of_the_others(tmp_path: Path) -> None:
    write_receiver(tmp_path / "receiver.zip")
    with zipfile.ZipFile(tmp_path / "receiver.zip") as package:
        assert package.namelist() == receiver_shipped()
        installed = pinned(package.read("requirements.txt").decode())
    assert installed.items() < pinned((ROOT / "requirements.txt").read_text()).items()
    assert pinned(OF_THE_RECEIVER).keys() <= installed.keys()
    assert not {"deltalake", "pyarrow", "starlette"} & installed.keys()


@pytest.mark.parametrize(
    "lock", sorted([ROOT / "requirements.txt", *ROOT.glob("locks/*.txt")]), ids=lambda path: path.name
)
def test_what_is_installed_has_a_hash(lock: Path) -> None:
    """With hashes in the file, pip installs only packages that are listed with a hash."""
    blocks = re.split(r"(?m)^(?=[a-zA-Z0-9])", lock.read_text())[1:]
    assert blocks
    assert [
        block for block in blocks if not re.match(r"[\w.-]+(\[[\w,-]+])?==.*\\\n +--hash=sha256:[0-9a-f]{64}", block)
    ] == []
