"""Report known vulnerabilities of the locked packages: `make audit` (`python -m tools.audit`).

pip-audit compares each Python lock file with the advisories of PyPI (with `--osv`: of OSV), and `npm audit` compares
the lock file of the web page with those of npm. Both need a network service. Exit status: 0 no vulnerability, 1 at
least one vulnerability, 3 a service did not answer, so that the result is unknown.

pip-audit and cyclonedx-bom are installed into `.cache/audit/`. Their lock file is created by `uv pip compile
tools/audit.in --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o locks/audit.txt`.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tools.locked_environment import ROOT, Missing, locked_environment

LOCK = ROOT / "locks/audit.txt"
HOME = ROOT / ".cache" / "audit"
LOCKS = ("locks/dev.txt", "requirements.txt", "locks/container.txt")
"""The lock files of everything that `make setup`, the Function App and the container install."""


class Verdict(NamedTuple):
    """The result for one lock file: its vulnerabilities, one line each, or the reason why the result is unknown."""

    of: str
    found: list[str]
    unknown: str | None = None


def environment() -> Path:
    """Return the interpreter with both tools; installs them if they are missing or the lock file has changed."""
    return locked_environment(HOME, LOCK, sys.executable, "pip-audit and cyclonedx-bom")


def audit_python(lock: Path, *options: str) -> Verdict:
    """Check every package of a lock file with hashes, without installing or resolving anything."""
    command = [str(environment()), "-m", "pip_audit", "--requirement", str(lock), "--require-hashes", "--disable-pip"]
    command += ["--format", "json", "--progress-spinner", "off", "--timeout", "30", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return read_pip_audit(lock.name, done.stdout, done.stderr)


def read_pip_audit(of: str, output: str, errors: str) -> Verdict:
    """Parse the output of pip-audit: JSON after an answer of the service, otherwise an error on standard error."""
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, KeyError):
        return Verdict(of, [], _last(errors) or "pip-audit printed nothing")
    found = [
        f"{each['name']} {each['version']}: {flaw['id']}, fixed in {', '.join(flaw['fix_versions']) or 'no version'}"
        for each in packages
        for flaw in each.get("vulns", ())
    ]
    skipped = [f"{each['name']}: {each['skip_reason']}" for each in packages if "skip_reason" in each]
    return Verdict(of, found, "; ".join(skipped) or None)


def audit_page(folder: Path) -> Verdict:
    """Check the lock file of the web page with npm."""
    command = ["npm", "audit", "--json", "--package-lock-only"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return read_npm_audit(f"{folder.name}/package-lock.json", done.stdout, done.stderr)


def read_npm_audit(of: str, output: str, errors: str) -> Verdict:
    """Parse the output of npm: vulnerabilities by package, or an error."""
    try:
        answer = json.loads(output)
        flaws = answer["vulnerabilities"]
    except (ValueError, KeyError):
        error = answer.get("message") or answer.get("error", {}).get("summary") if output.startswith("{") else None
        return Verdict(of, [], error or _last(errors) or "npm printed nothing")
    return Verdict(of, [f"{name} {each['range']}: {each['severity']}" for name, each in flaws.items()])


def _last(errors: str) -> str:
    return (errors.strip().splitlines() or [""])[-1][:300]


def tell(verdicts: Sequence[Verdict]) -> int:
    """Print the results and return the exit status."""
    for each in verdicts:
        print(
            f"{each.of}: {len(each.found)} known vulnerabilities" if not each.unknown or each.found else f"{each.of}:"
        )
        print("".join(f"  {line}\n" for line in each.found), end="")
        if each.unknown:
            print(f"  NOT KNOWN: {each.unknown}. Run the audit where the service is reachable.")
    if any(each.found for each in verdicts):
        return 1
    return 3 if any(each.unknown for each in verdicts) else 0


def main() -> int:
    """Check all lock files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--osv", action="store_true", help="use the advisories of OSV instead of PyPI")
    options = ["--vulnerability-service", "osv"] if parser.parse_args().osv else []
    try:
        return tell([*(audit_python(ROOT / name, *options) for name in LOCKS), audit_page(ROOT / "web")])
    except Missing as error:
        sys.stderr.write(f"audit: {error}\n")
        return 3


if __name__ == "__main__":
    sys.exit(main())
