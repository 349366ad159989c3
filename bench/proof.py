"""Remove information from random events and find answers that become safer although there is less evidence.

`python -m bench.proof --worlds 1000 --judges reference memory --examples` prints a table of operators and questions and
an example of each violation. The exit status is 1 if `tests/proof/open.toml` does not list a violation.
"""

import argparse
import sys

from tests.proof.campaign import EACH, JUDGES, smallest_of_each
from tests.proof.index_campaign import campaign_of
from tests.proof.open_points import open_pairs
from tests.proof.reports import report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--each", type=int, default=EACH, help="operators per world")
    parser.add_argument("--judges", nargs="+", choices=sorted(JUDGES), default=["reference", "memory"])
    parser.add_argument("--examples", action="store_true", help="print a shrunk example of each violation")
    given = parser.parse_args()
    unexpected: set[tuple[str, str]] = set()
    for name in given.judges:
        tally = campaign_of(name, range(given.first, given.first + given.worlds), given.each)
        print(f"{name}: {given.worlds} worlds\n{tally}", flush=True)
        for violation in smallest_of_each(tally.violations, JUDGES[name]) if given.examples else ():
            print(f"\n{report(violation)}", flush=True)
        unexpected |= tally.violations.keys() - open_pairs()
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
