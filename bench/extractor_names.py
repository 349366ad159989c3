"""Compare the names of OpenLineage's own extractors with canonical names, for several hundred addresses.

`python -m bench.extractor_names` runs the extractors and prints what they do differently; with `--record` it also
writes their names to `tests/fixtures/names/addresses.tsv`, against which a short test runs.
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
"""Where the extractor looks for Derby's files, whatever the working directory is."""


def main() -> None:
    """Compare; exit with 1 if the extractors' names are not those recorded, or a difference has no reason."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--record", action="store_true", help="write what the extractors return to the fixture")
    record = arguments.parse_args().record
    asked = [each for each in addresses() if each.kind in EXTRACTED]
    found = extracted_names(asked)
    if record:
        FILE.write_text("\n".join(_recorded(found)) + "\n")
    differing = [(each, name) for each, name in zip(asked, found, strict=True) if differs(each, name)]
    changed = [each for each, name in zip(asked, found, strict=True) if each.extracted != name]
    for each, name in differing:
        print(f"{each.reason or 'NO REASON':24} {each.address} {each.table}\n{'':24} {name.namespace} {name.name}")
    print(f"openlineage-spark {version()}: {len(asked)} addresses, {len(differing)} name another table than meant")
    print(", ".join(f"{reason}: {count}" for reason, count in Counter(each.reason for each, _ in differing).items()))
    print(f"Headwater: {cpu_us():.1f} us of CPU a name that is not remembered")
    if not record and (changed or any(not each.reason for each, _ in differing)):
        sys.exit(f"{len(changed)} names are not those recorded; run with --record and look at the difference")


def extracted_names(asked: Sequence[Address]) -> list[Name]:
    """Return the names that OpenLineage's extractors give to addresses."""
    jars = [ROOT / ".cache/jars" / f"openlineage-{version()}" / "*", Path(pyspark.__file__).parent / "jars" / "*"]
    rows = "".join(f"{each.kind}\t{each.address}\t{each.table}\n" for each in asked)
    command = ["java", f"-Dderby.system.home={_DERBY}", "-cp", ":".join(map(str, jars)), str(SOURCE)]
    done = subprocess.run(command, input=rows, capture_output=True, text=True, check=True)
    return [Name(*line.split("\t")) for line in done.stdout.splitlines()]


def differs(address: Address, name: Name) -> bool:
    """Tell whether an extracted name leads to another canonical name than the table's."""
    return default_rules().canonical(*name.parts) != address.means


def cpu_us(rounds: int = 7) -> float:
    """Return the CPU time of one name of the list in microseconds, the minimum of several rounds without caches."""
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
