"""Known vulnerabilities of what is installed: `make audit` (`python -m tools.audit`).

pip-audit holds each lock of ours against the advisories of PyPI (`--osv`: of OSV), `npm audit` that of the page against
npm's. Both ask a service over the network. Where that does not answer nothing is known, and that is said with status 3:
no finding is no proof then. Status 1: something was found. `.cache/audit/` has pip-audit and cyclonedx-bom, of a lock
that is made by `uv pip compile tools/audit.in --universal --python-version 3.11 --generate-hashes --no-emit-index-url
--no-header -o locks/audit.txt`.
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
"""What runs: all that `make setup` installs, and what the Function App does."""


class Verdict(NamedTuple):
    """What came of one lock: what was found, a line each; or why nothing is known."""

    of: str
    found: list[str]
    unknown: str | None = None


def environment() -> Path:
    """Return the interpreter that has both tools, which are installed if they are not there or the lock has changed."""
    return locked_environment(HOME, LOCK, sys.executable, "pip-audit and cyclonedx-bom")


def audit_python(lock: Path, *options: str) -> Verdict:
    """Ask about every package that a lock with hashes names; nothing is installed or resolved."""
    command = [str(environment()), "-m", "pip_audit", "--requirement", str(lock), "--require-hashes", "--disable-pip"]
    command += ["--format", "json", "--progress-spinner", "off", "--timeout", "30", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return read_pip_audit(lock.name, done.stdout, done.stderr)


def read_pip_audit(of: str, said: str, errors: str) -> Verdict:
    """Return what pip-audit says: JSON where it got an answer, else lines on standard error."""
    try:
        packages = json.loads(said)["dependencies"]
    except (ValueError, KeyError):
        return Verdict(of, [], _last(errors) or "pip-audit said nothing")
    found = [
        f"{each['name']} {each['version']}: {flaw['id']}, fixed in {', '.join(flaw['fix_versions']) or 'no version'}"
        for each in packages
        for flaw in each.get("vulns", ())
    ]
    skipped = [f"{each['name']}: {each['skip_reason']}" for each in packages if "skip_reason" in each]
    return Verdict(of, found, "; ".join(skipped) or None)


def audit_page(folder: Path) -> Verdict:
    """Ask npm about the page's lock."""
    command = ["npm", "audit", "--json", "--package-lock-only"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return read_npm_audit(f"{folder.name}/package-lock.json", done.stdout, done.stderr)


def read_npm_audit(of: str, said: str, errors: str) -> Verdict:
    """Return what npm says: vulnerabilities by package, or an error in their place."""
    try:
        answer = json.loads(said)
        flaws = answer["vulnerabilities"]
    except (ValueError, KeyError):
        error = answer.get("message") or answer.get("error", {}).get("summary") if said.startswith("{") else None
        return Verdict(of, [], error or _last(errors) or "npm said nothing")
    return Verdict(of, [f"{name} {each['range']}: {each['severity']}" for name, each in flaws.items()])


def _last(errors: str) -> str:
    return (errors.strip().splitlines() or [""])[-1][:300]


def tell(verdicts: Sequence[Verdict]) -> int:
    """Print what came of each; returns the exit status."""
    for each in verdicts:
        print(
            f"{each.of}: {len(each.found)} known vulnerabilities" if not each.unknown or each.found else f"{each.of}:"
        )
        print("".join(f"  {line}\n" for line in each.found), end="")
        if each.unknown:
            print(f"  NOT KNOWN: {each.unknown}. Run it where the service can be reached.")
    if any(each.found for each in verdicts):
        return 1
    return 3 if any(each.unknown for each in verdicts) else 0


def main() -> int:
    """Ask about every lock."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--osv", action="store_true", help="ask OSV in place of PyPI")
    options = ["--vulnerability-service", "osv"] if parser.parse_args().osv else []
    try:
        return tell([*(audit_python(ROOT / name, *options) for name in LOCKS), audit_page(ROOT / "web")])
    except Missing as error:
        sys.stderr.write(f"audit: {error}\n")
        return 3


if __name__ == "__main__":
    sys.exit(main())
