"""The steps of the Containerfile without an engine: `make container-steps`, where no Docker is, as no test can build.

Every COPY and RUN is done in one folder, in place of the image's root, by this machine's Python 3.13 and Node; then the
image's command says its version and its settings. Not shown: the base images, the user, what a later stage leaves out.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.functions_env import python_313
from tools.locked_environment import ROOT, Missing

CONTAINERFILE = ROOT / "Containerfile"
_PLACES = re.compile(r"(?<![\w/.])/(opt|src|tmp|var/lib/headwater)\b")
"""Where the image has something of ours."""
_KEYS = '[{"name": "steps", "key": "only-for-this", "roles": ["write"]}]'


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and arguments of each instruction, continued lines joined."""
    for line in re.sub(r"(?m)^\s*#.*\n", "", text).replace("\\\n", " ").splitlines():
        name, _, rest = line.partition(" ")
        if name:
            yield name, rest


def walk(root: Path, text: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Do every step below `root`; returns the variables of the last stage.

    Raises CalledProcessError for a step that fails, OSError for what is not there to be copied.
    """
    told: dict[str, str] = {}
    here, stage = root, ""
    left: dict[str, Path] = {}  # where a stage ended, which the next one on it begins in
    for name, rest in instructions(text):
        match name:
            case "FROM":
                left[stage] = here
                base, _, stage = rest.partition(" AS ")
                told, here = {}, left.get(base, root)
            case "WORKDIR":
                here = Path(_PLACES.sub(rf"{root}/\1", rest))
                here.mkdir(parents=True, exist_ok=True)
            case "ENV":
                told |= dict(word.split("=", 1) for word in shlex.split(rest) if not word.startswith("PATH="))
            case "COPY":
                _copy(root, here, rest.split())
            case "RUN":
                step = re.sub(r" --(owner|group)=\S+", "", _PLACES.sub(rf"{root}/\1", rest))
                print(f"RUN {step}", flush=True)
                subprocess.run(["/bin/sh", "-ec", step], cwd=here, env={**environment, **told}, check=True)
    return told


def _copy(root: Path, here: Path, words: list[str]) -> None:
    """Copy from the checkout, or within the one folder of all stages, where it may lie already."""
    is_ours = not words[0].startswith("--from=")
    *sources, target = words if is_ours else words[1:]
    place = here / _PLACES.sub(rf"{root}/\1", target)
    if target.endswith("/"):
        place.mkdir(parents=True, exist_ok=True)
    for source in sources:
        found = ROOT / source if is_ours else Path(_PLACES.sub(rf"{root}/\1", source))
        if found.is_dir():
            ignored = shutil.ignore_patterns("node_modules", "__pycache__")
            if found.resolve() != place.resolve():
                shutil.copytree(found, place, dirs_exist_ok=True, ignore=ignored)
        elif (into := place / found.name if place.is_dir() else place).resolve() != found.resolve():
            into.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(found, into)


def main() -> int:
    """Do the steps in a folder that goes again, then ask what came of them."""
    with tempfile.TemporaryDirectory(prefix="headwater-image-") as name:
        root = Path(name)
        for folder in ("bin", "tmp"):
            (root / folder).mkdir()
        try:
            (root / "bin" / "python").symlink_to(python_313())
        except Missing as error:
            sys.stderr.write(f"container: {error}\n")
            return 1
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("HEADWATER_", "PYTHON"))}
        environment = {**kept, "PATH": f"{root}/bin:{os.environ['PATH']}"}
        told = walk(root, CONTAINERFILE.read_text(), environment)
        data = {"HEADWATER_DATA": f"{root}/data", "HEADWATER_KEYS": _KEYS}
        for word in ("--version", "check"):
            command = [f"{root}/opt/headwater/bin/headwater", word]
            subprocess.run(command, cwd=root, env={**environment, **told, **data}, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
