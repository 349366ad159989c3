"""Run the steps of the Containerfile without a container engine: `make container-steps`.

The program runs every COPY and RUN in one folder, which replaces the root of the image, with this machine's Python 3.13
and Node. Then it runs `headwater --version` and `headwater check`. It does not check the base images, the user, or
which files a later stage omits.
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
"""Folders of the image that belong to Headwater."""
_KEYS = '[{"name": "steps", "key": "only-for-this", "roles": ["write"]}]'


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name and arguments of each instruction, with continued lines joined."""
    for line in re.sub(r"(?m)^\s*#.*\n", "", text).replace("\\\n", " ").splitlines():
        name, _, rest = line.partition(" ")
        if name:
            yield name, rest


def walk(root: Path, text: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Run every step below `root` and return the environment variables of the last stage.

    Raises CalledProcessError if a step fails, and OSError if a file to copy is missing.
    """
    variables: dict[str, str] = {}
    here, stage = root, ""
    stage_folders: dict[str, Path] = {}  # working directory at the end of each stage, where dependent stages start
    for name, rest in instructions(text):
        match name:
            case "FROM":
                stage_folders[stage] = here
                base, _, stage = rest.partition(" AS ")
                variables, here = {}, stage_folders.get(base, root)
            case "WORKDIR":
                here = Path(_PLACES.sub(rf"{root}/\1", rest))
                here.mkdir(parents=True, exist_ok=True)
            case "ENV":
                variables |= dict(word.split("=", 1) for word in shlex.split(rest) if not word.startswith("PATH="))
            case "COPY":
                _copy(root, here, rest.split())
            case "RUN":
                step = re.sub(r" --(owner|group)=\S+", "", _PLACES.sub(rf"{root}/\1", rest))
                print(f"RUN {step}", flush=True)
                subprocess.run(["/bin/sh", "-ec", step], cwd=here, env={**environment, **variables}, check=True)
    return variables


def _copy(root: Path, here: Path, words: list[str]) -> None:
    """Copy from the checkout or from another stage. Stages share one folder, so the file may already be in place."""
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
    """Run the steps in a temporary folder, then run the installed command."""
    with tempfile.TemporaryDirectory(prefix="headwater-image-") as name:
        root = Path(name)
        for folder in ("bin", "tmp"):
            (root / folder).mkdir()
        try:
            (root / "bin" / "python").symlink_to(python_313())
        except Missing as error:
            sys.stderr.write(f"container: {error}\n")
            return 1
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("HEADWATER_", "PYTHON"))}
        environment = {**inherited, "PATH": f"{root}/bin:{os.environ['PATH']}"}
        variables = walk(root, CONTAINERFILE.read_text(), environment)
        data = {"HEADWATER_DATA": f"{root}/data", "HEADWATER_KEYS": _KEYS}
        for word in ("--version", "check"):
            command = [f"{root}/opt/headwater/bin/headwater", word]
            subprocess.run(command, cwd=root, env={**environment, **variables, **data}, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
