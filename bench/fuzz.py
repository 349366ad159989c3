"""Fuzz all functions that take untrusted bytes, with coverage-guided mutation (atheris).

`python -m bench.fuzz envelope --seconds 600` runs one target; without a name, all targets run in turn. The corpus
consists of the sample events and of rules files. If an input breaks a guarantee, atheris writes the input to the
current folder, the traceback is printed, and the exit status is 1.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

SAMPLES = Path("tests/fixtures/events")
_LONGEST = 16_384


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?")
    parser.add_argument("--seconds", type=int, default=60, help="seconds for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.corpus:
        return _fuzz(chosen.target, chosen.corpus, chosen.seconds, chosen.seed)
    from tests.support.fuzz_targets import TARGETS

    status = 0
    for name in [chosen.target] if chosen.target else TARGETS:
        with tempfile.TemporaryDirectory(prefix="headwater-fuzz-") as folder:
            _fill(name, Path(folder))
            command = [sys.executable, "-m", "bench.fuzz", name, "--corpus", folder]
            command += ["--seconds", str(chosen.seconds), "--seed", str(chosen.seed)]
            done = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)
        status |= done.returncode != 0
        lines = done.stderr.strip().splitlines()
        print(f"{name}: {'FAILED' if done.returncode else 'passed'}; {lines[-1] if lines else ''}", flush=True)
        if done.returncode:
            print(*lines[-60:], sep="\n")
    return status


def _fuzz(name: str, corpus: Path, seconds: int, seed: int) -> int:
    import atheris

    with atheris.instrument_imports(include=["headwater"]):
        from tests.support.fuzz_targets import TARGETS
    options = [
        f"-max_total_time={seconds}",
        f"-seed={seed}",
        f"-max_len={_LONGEST}",
        "-timeout=20",
        "-rss_limit_mb=2048",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], TARGETS[name])
    atheris.Fuzz()
    return 0


def _fill(name: str, corpus: Path) -> None:
    lines = [line for file in sorted(SAMPLES.glob("*.ndjson")) for line in file.read_bytes().splitlines() if line]
    for number, line in enumerate(lines[:200]):
        (corpus / f"event{number}").write_bytes(line[:_LONGEST])
    if name == "rules":
        for number, file in enumerate(sorted([*Path("headwater").rglob("*.yaml"), *Path("docs").rglob("*.md")])):
            (corpus / f"rules{number}").write_bytes(file.read_bytes()[:_LONGEST])
    if name == "names":
        for number, text in enumerate((b"s3://lake\na/b/c", b"abfss://c@a.dfs.core.windows.net\n/x", b"hive\ndb.t")):
            (corpus / f"name{number}").write_bytes(text)


if __name__ == "__main__":
    sys.exit(main())
