"""Write software bills of materials (CycloneDX) to `dist/sbom/*.cdx.json`: `make sbom` (`python -m tools.sbom`).

The sources are the Python lock files (cyclonedx-bom), the lock file of the web page (`npm sbom`), and the lists of jars
with their SHA-256 (`jvm/*.sha256`). Nothing is installed, and the same files produce the same components.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.audit import LOCKS, environment
from tools.locked_environment import ROOT, Missing

TARGET = ROOT / "dist" / "sbom"
_JAR = re.compile(r"(?P<name>.+?)-(?P<version>\d[\w.+-]*)\.jar")
Bom = dict[str, Any]


def python_bom(lock: Path) -> Bom:
    """Return the components of a Python lock file."""
    command = [str(environment()), "-m", "cyclonedx_py", "requirements", str(lock)]
    return _run(
        [*command, "--output-format", "JSON", "--output-reproducible", "--pyproject", str(ROOT / "pyproject.toml")],
        ROOT,
    )


def page_bom(folder: Path) -> Bom:
    """Return the components of the web page's lock file, with the Python package's version, because npm needs one."""
    with tempfile.TemporaryDirectory() as name:
        for file in ("package.json", "package-lock.json"):
            package = json.loads((folder / file).read_text())
            package["version"] = version()
            if "packages" in package:
                package["packages"][""]["version"] = version()
            Path(name, file).write_text(json.dumps(package))
        command = ["npm", "sbom", "--sbom-format", "cyclonedx", "--sbom-type", "application", "--package-lock-only"]
        return _run(command, Path(name))


def jars_bom(lists: list[Path]) -> Bom:
    """Return the components of lists of SHA-256; a jar in two lists occurs once."""
    parts = {sha256: path for file in lists for sha256, path in _listed(file)}
    components = [_jar(sha256, path) for sha256, path in sorted(parts.items(), key=lambda each: each[1])]
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": {"type": "application", "name": "headwater-jars", "version": version()}},
        "components": components,
    }  # fmt: skip


def _jar(sha256: str, path: str) -> Bom:
    file = path.rpartition("/")[2]
    found = _JAR.fullmatch(file)
    named = found.groupdict() if found else {"name": file}
    return {"type": "library", **named, "hashes": [{"alg": "SHA-256", "content": sha256}], "bom-ref": sha256}


def _listed(file: Path) -> Iterator[tuple[str, str]]:
    for line in file.read_text().splitlines():
        sha256, _, path = line.partition("  ")
        yield sha256, path


def version() -> str:
    """Return the version of Headwater."""
    found: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    return found


def _run(command: list[str], folder: Path) -> Bom:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"`{' '.join(command[-6:])}` failed: {(done.stderr.strip().splitlines() or [''])[-1][:300]}")
    bom: Bom = json.loads(done.stdout)
    return bom


def main() -> int:
    """Write one file for each source."""
    TARGET.mkdir(parents=True, exist_ok=True)
    try:
        boms = {Path(name).stem: python_bom(ROOT / name) for name in LOCKS}
        boms |= {"web": page_bom(ROOT / "web"), "jars": jars_bom(sorted((ROOT / "jvm").glob("*.sha256")))}
    except Missing as error:
        sys.stderr.write(f"sbom: {error}\n")
        return 3
    for name, bom in boms.items():
        path = TARGET / f"{name}.cdx.json"
        path.write_text(json.dumps(bom, indent=1) + "\n")
        print(f"{path.relative_to(ROOT)}: {len(bom['components'])} components")
    return 0


if __name__ == "__main__":
    sys.exit(main())
