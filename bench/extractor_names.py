"""Compare the dataset names of OpenLineage's extractors with Headwater's canonical names, for hundreds of addresses.

`python -m bench.extractor_names` runs the extractors and prints the differences. With `--record`, it also writes the
extracted names to `tests/fixtures/names/addresses.tsv`, which a fast test uses.
"""

import argparse
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyspark

from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.names.dataset_name import Name
from tests.support.name_addresses import EXTRACTED, FILE, Address, addresses, lines, version

ROOT = Path(__file__).parents[1]
SOURCE = Path(__file__).with_name("ExtractorNames.java")
_DERBY = "/derby"
"""A fixed Derby folder, so that the extracted names do not depend on the working directory."""


def main() -> None:
    """Compare the names; exit with 1 if an extracted name differs from the fixture or a difference has no reason."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--record", action="store_true", help="write the extracted names to the fixture")
    record = arguments.parse_args().record
    asked = [each for each in addresses() if each.kind in EXTRACTED]
    found = extracted_names(asked)
    if record:
        FILE.write_text("\n".join(_recorded(found)) + "\n")
    differing = [(each, name) for each, name in zip(asked, found, strict=True) if differs(each, name)]
    changed = [each for each, name in zip(asked, found, strict=True) if each.extracted != name]
    for each, name in differing:
        print(f"{each.reason or 'NO REASON':24} {each.address} {each.table}\n{'':24} {name.namespace} {name.name}")
    print(f"openlineage-spark {version()}: {len(asked)} addresses, {len(differing)} names of a different table")
    print(", ".join(f"{reason}: {count}" for reason, count in Counter(each.reason for each, _ in differing).items()))
    print(f"Headwater: {cpu_us():.1f} us of CPU per name that is not cached")
    if not record and (changed or any(not each.reason for each, _ in differing)):
        sys.exit(f"{len(changed)} names differ from the fixture. Run with --record and check the difference.")


def extracted_names(asked: Sequence[Address]) -> list[Name]:
    """Return the names that OpenLineage's extractors give to the addresses."""
    jars = [ROOT / ".cache/jars" / f"openlineage-{version()}" / "*", Path(pyspark.__file__).parent / "jars" / "*"]
    rows = "".join(f"{each.kind}\t{each.address}\t{each.table}\n" for each in asked)
    command = ["java", f"-Dderby.system.home={_DERBY}", "-cp", ":".join(map(str, jars)), str(SOURCE)]
    done = subprocess.run(command, input=rows, capture_output=True, text=True, check=True)
    return [Name(*line.split("\t")) for line in done.stdout.splitlines()]


def differs(address: Address, name: Name) -> bool:
    """Return whether the extracted name has a different canonical name than the table."""
    return default_rules().canonical(*name.parts) != address.means


def cpu_us(rounds: int = 7) -> float:
    """Return the CPU time per name in microseconds: the minimum of several rounds without caches."""
    rules, names = default_rules(), [(each.address, each.table) for each in addresses()]
    found = []
    for _ in range(rounds):
        began = time.process_time()
        for name in names:
            rules.explain(*name)
        found.append(time.process_time() - began)
    return min(found) / len(names) * 1_000_000


def _recorded(extracted: Sequence[Name]) -> list[str]:
    names, found = iter(extracted), []
    for line in lines():
        kind, *cells = line.split("\t")
        row = [kind, *cells[:2], *next(names).parts, *cells[4:]] if kind in EXTRACTED else [kind, *cells]
        found.append("\t".join(row).rstrip("\t"))
    return found


if __name__ == "__main__":
    main()
