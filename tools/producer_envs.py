"""Producers of OpenLineage in environments of their own, which tests let send their lineage to a Headwater.

`make setup-test` installs dbt (`python -m tools.producer_envs`), `make test-producers` all of them (`… --all`).
Packages of Python lie in `.cache/producers/NAME/`, the Java client's jars in `.cache/jars/java-client/`. A lock file is
made by `uv pip compile tools/producer-NAME.in --universal --python-version 3.11 --generate-hashes --no-emit-index-url
--no-header -o locks/producer-NAME.txt`, the jars' by `sha256sum` of what Maven copied
(`jvm/java-client/pom.xml`).
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
    """Return the `bin` folder of a producer's environment, which is installed if it is not there as locked.

    Raises Missing.
    """
    lock = ROOT / "locks" / f"producer-{name}.txt"
    return locked_environment(HOME / name, lock, sys.executable, f"the producer {name}").parent


def java_class_path() -> str:
    """Return the class path of OpenLineage's Java client, which is fetched if it is not there. Raises Missing."""
    jars.fetch(JAVA_CLIENT)
    return os.pathsep.join(map(str, sorted((jars.CACHE / JAVA_CLIENT).glob("*.jar"))))


def main() -> int:
    """Bring the environments in order; does nothing when they already are."""
    every = "--all" in sys.argv[1:]
    producers = [partial(_said, name) for name in ((DBT, AIRFLOW) if every else (DBT,))]
    return in_order("producers", *producers, *([_java_client] if every else []))


def _said(name: str) -> str:
    return f"Producer {name}: {environment(name).parent.relative_to(ROOT)}"


def _java_client() -> str:
    return f"Java client: {java_class_path().count(os.pathsep) + 1} jars"


if __name__ == "__main__":
    sys.exit(main())
