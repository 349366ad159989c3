"""Install OpenLineage producers in separate environments, for tests that send their lineage to Headwater.

`make setup-test` installs dbt (`python -m tools.producer_envs`), `make test-producers` all producers (`… --all`).
Python packages are stored in `.cache/producers/NAME/`, the jars of the Java client in `.cache/jars/java-client/`.
Python lock files are created by `uv pip compile tools/producer-NAME.in --universal --python-version 3.11
--generate-hashes --no-emit-index-url --no-header -o locks/producer-NAME.txt`. The list of the jars is the output of
`sha256sum` for the files that Maven copies (`jvm/java-client/pom.xml`).
"""

import os
import sys
from functools import partial
from pathlib import Path

from tools import jars
from tools.locked_environment import ROOT, in_order, locked_environment

HOME = ROOT / ".cache" / "producers"
DBT, AIRFLOW = "dbt", "airflow"
JAVA_CLIENT = "java-client"


def environment(name: str) -> Path:
    """Return the `bin` folder of a producer's environment; installs it if it is missing or the lock file has changed.

    Raises Missing.
    """
    lock = ROOT / "locks" / f"producer-{name}.txt"
    return locked_environment(HOME / name, lock, sys.executable, f"the producer {name}").parent


def java_class_path() -> str:
    """Return the class path of OpenLineage's Java client; fetches missing jars. Raises Missing."""
    jars.fetch(JAVA_CLIENT)
    return os.pathsep.join(map(str, sorted((jars.CACHE / JAVA_CLIENT).glob("*.jar"))))


def main() -> int:
    """Install the environments; does nothing if they are complete."""
    every = "--all" in sys.argv[1:]
    producers = [partial(_python_producer, name) for name in ((DBT, AIRFLOW) if every else (DBT,))]
    return in_order("producers", *producers, *([_java_client] if every else []))


def _python_producer(name: str) -> str:
    return f"Producer {name}: {environment(name).parent.relative_to(ROOT)}"


def _java_client() -> str:
    return f"Java client: {java_class_path().count(os.pathsep) + 1} jars"


if __name__ == "__main__":
    sys.exit(main())
