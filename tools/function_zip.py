"""The deployment package of the Function App: `python -m tools.function_zip`; the same files make the same bytes."""

import argparse
import hashlib
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "dist" / "function-app.zip"

DASHBOARD = ROOT / "headwater" / "web" / "assets" / "index.html"

SHIPPED = (
    "function_app.py",
    "host.json",
    "requirements.txt",
    "LICENSE",
    "functions/**/*.py",
    "headwater/[!_]*.py",
    "headwater/__init__.py",
    "headwater/api/**/*.py",
    "headwater/api/docs.html",
    "headwater/contracts/*.py",
    "headwater/eventlog/*.py",
    "headwater/events/*.py",
    "headwater/file_intake/**/*.py",
    "headwater/identity/*.py",
    "headwater/index/**/*.py",
    "headwater/lake/*.py",
    "headwater/lineage/**/*.py",
    "headwater/lineage/names/names.yaml",
    "headwater/lineage/rules/shown_rules.yaml",
    "headwater/parser/*.py",
    "headwater/questions/**/*.py",
    "headwater/receiver/*.py",
    "headwater/runtime/*.py",
    "headwater/sinks/**/*.py",
    "headwater/sinks/targets/purview/purview_names.yaml",
    "headwater/spark/**/*.py",  # never imported there: the version of the rules is a hash over these, too
    "headwater/web/*.py",
    "headwater/web/assets/**/*",
)
"""Everything that goes to the cloud; `.funcignore` says the same to other tools."""

LEFT_OUT = (
    "headwater/eventlog/kafka_log.py",  # the app speaks AMQP
    "headwater/eventlog/kafka_[cfir]*.py",
    "headwater/sinks/operating/sink_replay.py",  # a command's
    "headwater/events/file_validation.py",  # for the command line, with the schemas of the specification
    "headwater/events/problems.py",
    "headwater/events/validation.py",
)

_TIME = (1980, 1, 1, 0, 0, 0)


def shipped(root: Path = ROOT) -> list[str]:
    """List the files of the package, sorted, by their path in it."""
    kept, left_out = ({path for pattern in patterns for path in root.glob(pattern)} for patterns in (SHIPPED, LEFT_OUT))
    return sorted(path.relative_to(root).as_posix() for path in kept - left_out if path.is_file())


def write_package(target: Path, root: Path = ROOT) -> str:
    """Write the package; returns its sha256."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as package:
        for name in shipped(root):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            package.writestr(entry, (root / name).read_bytes())
    return hashlib.sha256(target.read_bytes()).hexdigest()


def main() -> None:
    """Write the package and say what it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?", type=Path, default=PACKAGE)
    target = parser.parse_args().target
    if not DASHBOARD.exists():
        sys.exit("The dashboard is not built, which the package has in it. Run `make web` (it needs Node 20) first.")
    digest = write_package(target)
    print(f"{target}: {len(shipped())} files, {target.stat().st_size / 1e3:.0f} KB, sha256 {digest}")


if __name__ == "__main__":
    main()
