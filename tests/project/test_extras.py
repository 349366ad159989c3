"""The wheel that Fabric and Databricks install imports only the rules and Spark. Extras cover all other imports."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from fnmatch import fnmatch
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from headwater.sinks.interface.target_registry import TARGETS
from headwater.spark.replay.spark_replay import BY_TASKS
from tests.functions.test_package import distribution
from tests.support.paths import ROOT
from tools.function_zip import imports

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
INSTALLED = packages_distributions()
NAME = re.compile(r"[\w.-]+")

# module patterns and the extras that they may import; the first match applies
ROOMS: tuple[tuple[str, set[str]], ...] = (
    ("headwater.intake.event_log.*_kind", {"server"}),
    ("headwater.intake.event_log.kafka_identity", {"azure"}),
    ("headwater.intake.event_log.kafka*", {"kafka"}),
    ("headwater.intake.event_log.event_hub*", {"azure"}),
    ("headwater.intake.event_log.blob_claims", {"azure"}),
    ("headwater.intake.files.sources.azure_files", {"azure"}),
    ("headwater.intake.files.capture_records", {"azure"}),
    ("headwater.operations.runtime.azure_files", {"azure"}),
    ("headwater.common.http_connection", {"server", "replay"}),
    ("headwater.sinks.connecting.kafka_topic", {"kafka"}),
    ("headwater.sinks.connecting.authentication", {"server", "aws", "google"}),
    ("headwater.sinks.connecting.s3_folder", {"server", "aws"}),
    ("headwater.sinks.connecting.blob_folder", {"server", "azure"}),
    ("headwater.sinks.targets.datahub.kafka", {"server", "kafka", "datahub"}),
    ("headwater.sinks.connecting.secrets", {"server", "azure"}),
    ("headwater.sinks.*", {"server", "replay"}),
    ("headwater.operations.fabric.*", {"server", "azure"}),
    ("headwater.cli.agents.mcp_server", {"server", "agents"}),
    ("headwater.events.*validation", {"server"}),
    ("headwater.spark.notebook.plots", {"spark", "notebooks"}),
    ("headwater.spark.*", {"spark"}),
    ("headwater.governance.contracts.*", set()),
    ("headwater.governance.yaml_text", set()),
    ("headwater.lineage.*", set()),
    ("headwater.questions.*", set()),
    ("headwater.events.*", set()),
    ("headwater.tables*", set()),
    ("headwater.*", {"server"}),
)
PYSPARKS = {"py4j": "pyspark"}
NOT_IMPORTED = {"aiohttp"}  # azure-identity imports it
STREAMS = (
    "headwater.spark.log_ingest.kafka_options",
    "headwater.spark.log_ingest.topic_stream",
    "headwater.spark.stream_job",
)  # modules for Kafka
REPLAY = tuple(f"headwater.spark.replay.{name}" for name in ("replay_job", "replay_task", "spark_replay"))

_ALL = """
import sys
from importlib import import_module, util
class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {gone!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Gone())
for module in {modules!r}:
    import_module(module)
"""


def names(requirements: Iterable[str]) -> set[str]:
    return {NAME.match(each)[0].lower() for each in requirements}  # type: ignore[index]


def brought(extra: str) -> set[str]:
    """Return the packages that an extra lists itself."""
    return names(each for each in PROJECT["optional-dependencies"][extra] if not each.startswith("headwater"))


BASE = names(PROJECT["dependencies"])


def room(module: str) -> set[str]:
    return next(extras for shape, extras in ROOMS if fnmatch(module, shape))


def third_party(path: Path) -> set[str]:
    tops = {each for each in imports(path) if each.partition(".")[0] in INSTALLED}
    packages = {distribution(each, INSTALLED) for each in tops if each not in ("azure", "azure.storage")}
    return {PYSPARKS.get(each, each) for each in packages} - {"headwater"}


def modules() -> dict[str, Path]:
    paths = [path for path in sorted((ROOT / "headwater").rglob("*.py")) if path.name != "__init__.py"]
    return {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}


@pytest.mark.slow
def test_each_module_imports_what_its_rooms_extras_name_and_each_extra_names_no_more() -> None:
    used: dict[str, set[str]] = {extra: set(NOT_IMPORTED) for extra in PROJECT["optional-dependencies"]}
    for module, path in modules().items():
        needed = third_party(path) - BASE
        assert needed <= set().union(*map(brought, room(module))), (
            f"{module} imports {needed}, which its extras do not cover"
        )
        for extra in room(module):
            used[extra] |= needed
    wanted = {extra: brought(extra) - BASE for extra in used}
    assert {extra: packages & used[extra] for extra, packages in wanted.items()} == wanted


def test_the_wheel_alone_has_no_server_no_delta_rs_and_pins_nothing_that_a_runtime_ships() -> None:
    assert {"google-re2", "httpx", "msgspec", "pyarrow", "pyyaml", "rapidfuzz", "sqlglot"} == BASE
    assert [each for each in PROJECT["dependencies"] if each.startswith("pyarrow")] == ["pyarrow"]


@pytest.mark.slow
def test_rules_and_spark_are_imported_beside_the_packages_of_a_runtime_alone() -> None:
    there = closure(BASE | brought("spark") | brought("notebooks"))
    rooms = [name for name in modules() if name.startswith(("headwater.lineage.", "headwater.spark."))]
    assert {*STREAMS, *REPLAY} < set(rooms)
    gone = imported_beside(there, [name for name in rooms if name not in (*STREAMS, *REPLAY)])
    assert {"typer", "pydantic", "deltalake", "starlette", "confluent_kafka", "azure"} <= gone


@pytest.mark.slow
def test_a_replay_by_spark_needs_no_more_than_its_extra() -> None:
    targets = [TARGETS.built_in[kind] for kind in BY_TASKS]
    gone = imported_beside(closure(BASE | brought("spark") | brought("replay")), [*REPLAY, *targets])
    assert {"typer", "deltalake", "arro3", "starlette", "confluent_kafka", "azure"} <= gone


def imported_beside(there: set[str], wanted: list[str]) -> set[str]:
    """Import modules with only some packages available. Returns the top-level names of the missing packages."""
    known = set(map(canonicalize_name, there))
    gone = {top for top, packages in INSTALLED.items() if not known & set(map(canonicalize_name, packages))}
    code = _ALL.format(gone=gone - {"headwater", "functions"}, modules=wanted)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return gone


def closure(packages: set[str]) -> set[str]:
    """Return the packages with their dependencies."""
    found: set[str] = set()
    left = set(packages)
    while left:
        package = left.pop()
        found.add(package)
        needs = map(Requirement, requires(package) or ())
        left |= {each.name.lower() for each in needs if not each.marker or each.marker.evaluate({"extra": ""})} - found
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "code", "extra"),
    [
        ("typer", "sys.argv = ['headwater', 'audit']; from headwater.__main__ import main; main()", "server"),
        ("pyspark", "from headwater.__main__ import spark_main; spark_main()", "spark"),
        ("mcp", "from headwater.cli import main; main(['mcp'])", "agents"),
        ("confluent_kafka", "from headwater.cli import main; main(['log', 'show'])", "kafka"),
        ("confluent_kafka", "from headwater.cli import main; main(['spark', 'stream'])", "kafka"),
        ("azure", "from headwater.cli import main; main(['log', 'show'])", "azure"),
        ("delta", "from headwater.cli import main; main(['spark', 'refresh'])", "spark"),
    ],
)  # fmt: skip
def test_what_is_missing_says_which_extra_brings_it(tmp_path: Path, missing: str, code: str, extra: str) -> None:
    log = {"kafka": 'log = "kafka"\nkafka_servers = "127.0.0.1:9"', "azure": 'log = "event_hub"\nhub_namespace = "h"'}
    (tmp_path / "headwater.toml").write_text(log.get(extra, ""))
    (tmp_path / "headwater-data").mkdir()
    (tmp_path / "headwater-data" / "format").write_text("1\n")
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.modules[{missing!r}] = None; {code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert done.stderr.splitlines()[-1].startswith("headwater: The Python package of `"), done.stderr
    assert done.stderr.rstrip().endswith(f"`pip install 'headwater[{extra}]'`."), done.stderr
