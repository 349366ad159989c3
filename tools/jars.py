"""Fetch the jars for Spark and Kafka with Maven, check their SHA-256, and compile the project's demo file system.

`make setup` runs this. The jars are stored in `.cache/jars/`, in one folder per purpose, so that a class path contains
exactly one listener version. `jvm/NAME/pom.xml` lists what Maven fetches, and `jvm/NAME.sha256` the expected hashes.
The collection `jars` is the main one.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from tools.locked_environment import ROOT, Missing, in_order

CACHE = ROOT / ".cache" / "jars"
JVM = ROOT / "jvm"
BASE = "jars"
SPARK4 = "spark4"
_SIZES_MB = {BASE: 184, SPARK4: 116, "runtimes": 6, "java-client": 8, "marquez-tests": 25}
DEMO_FS_SOURCE = ROOT / "jvm" / "demo-fs" / "OneLakeOnDisk.java"
DEMO_FS = CACHE / "demo-fs" / "headwater-demo-fs.jar"

TRANSPORT = JVM / "transport" / "target" / "headwater-transport.jar"
"""The listener transport to OneLake and other stores; built by `make jvm`."""

PLUGIN = JVM / "plugin" / "target" / "headwater-plugin.jar"
"""The Spark plugin that writes lineage to a table; built by `make jvm`."""

CONNECTOR = JVM / "connector" / "target" / "headwater-connector.jar"
"""A Spark source that reports its lineage through OpenLineage's Spark extensions; built by `make jvm`."""

CONNECTOR4 = CONNECTOR.with_stem("headwater-connector-spark4")
"""The same connector for Spark 4.1, which uses a different Scala version."""

JAVA = 17
INSTALL = "Debian or Ubuntu: `sudo apt-get install openjdk-17-jdk-headless maven`. Then run `make setup` again."


def class_path(listener: str) -> str:
    """Return the value of `spark.driver.extraClassPath` for a listener version such as 1.53.0.

    Raises Missing for an unknown version, or if the jars were not fetched.
    """
    if listener not in listeners():
        where = _list(_of_this_spark()).relative_to(ROOT)
        raise Missing(f"There is no listener {listener!r} in {where}. Known: {', '.join(listeners())}.")
    listed = _listed(_of_this_spark())
    wanted = [CACHE / path for path in listed if path.parts[0] in ("delta", f"openlineage-{listener}")]
    wanted.append(DEMO_FS)
    absent = [path for path in wanted if not path.exists()]
    if absent:
        raise Missing(f"{absent[0].name} is not in {CACHE.relative_to(ROOT)}. Run `make setup`.")
    return os.pathsep.join(map(str, wanted))


def connector_path() -> str:
    """Return the class path entries of the project's connector and of Iceberg for this Spark, without a listener.

    Raises Missing if the connector was not built or the jars were not fetched.
    """
    is_4 = _of_this_spark() == SPARK4
    folders = "spark-extension", "iceberg4" if is_4 else "iceberg"
    wanted = [CACHE / path for path in (*_listed(BASE), *_listed(SPARK4)) if path.parts[0] in folders]
    absent = [path for path in wanted if not path.exists()]
    if absent:
        raise Missing(f"{absent[0].name} is not in {CACHE.relative_to(ROOT)}. Run `make setup`.")
    return os.pathsep.join(map(str, [built(CONNECTOR4 if is_4 else CONNECTOR), *wanted]))


def listeners() -> tuple[str, ...]:
    """Return the listener versions for the Spark of this Python."""
    folders = {path.parts[0] for path in _listed(_of_this_spark())}
    return tuple(sorted(name.partition("-")[2] for name in folders if "openlineage" in name))


def _of_this_spark() -> str:
    return SPARK4 if version("pyspark").startswith("4.") else BASE


def built(jar: Path) -> Path:
    """Return the path of one of the project's jars, such as `TRANSPORT`; raises Missing if it was not built."""
    if not jar.exists():
        raise Missing(f"{jar.name} is not in {jar.parent.relative_to(ROOT)}. Run `make jvm`.")
    return jar


def require_java() -> str:
    """Return the `java` that Spark will use; raises Missing if there is none or it is older than 17."""
    return _require_tool("java")


def main() -> int:
    """Fetch missing jars and build the demo file system; `--fetch` only fetches."""
    return in_order("jars", _fetched if "--fetch" in sys.argv[1:] else _checked)


def _fetched() -> str:
    fetch(BASE)
    return f"Third-party jars: {len(_listed(BASE))} in {CACHE.relative_to(ROOT)}."


def _checked() -> str:
    fetched, built = fetch(BASE), _build_demo_fs()
    jars = [CACHE / path for path in _listed(BASE)] + [DEMO_FS]
    size_mb = sum(path.stat().st_size for path in jars) / 1e6
    done = ", ".join(text for text, true in (("fetched", fetched), ("built", built)) if true) or "checked"
    return f"Jars {done}: {len(jars)} in {CACHE.relative_to(ROOT)}, {size_mb:.0f} MB."


def fetch(name: str) -> bool:
    """Fetch a collection unless it is complete; returns whether it fetched. Raises Missing."""
    if not _wrong(name, CACHE):
        return False
    _require_tool("java")
    maven = shutil.which("mvn")
    if not maven:
        raise Missing(f"Maven (`mvn`), which fetches the jars of Spark, Delta and Kafka, is missing. {INSTALL}")
    print(f"Fetching jars with Maven (about {_SIZES_MB[name]} MB, once)", flush=True)
    fresh = CACHE.with_name(f"{name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    pom = str(JVM / name / "pom.xml")
    _run_maven([maven, "-B", "-q", "-f", pom, f"-Djars={fresh}", "dependency:copy", "dependency:copy-dependencies"])
    _check_fetched(name, fresh)
    for path in _listed(name):
        (CACHE / path).parent.mkdir(parents=True, exist_ok=True)
        (fresh / path).replace(CACHE / path)
    shutil.rmtree(fresh)
    return True


def _list(name: str) -> Path:
    return JVM / f"{name}.sha256"


def _listed(name: str) -> dict[Path, str]:
    """Read a committed list: path below the cache -> SHA-256."""
    lines = (line.split() for line in _list(name).read_text().splitlines() if line)
    return {Path(path): digest for digest, path in lines}


def _wrong(name: str, folder: Path) -> list[Path]:
    return [path for path, digest in _listed(name).items() if _digest(folder / path) != digest]


def _digest(path: Path) -> str | None:
    if not path.exists():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _run_maven(command: list[str]) -> None:
    log = CACHE.with_name("maven.log")
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.with_name("maven.lock").open("w") as lock, log.open("w") as output:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the Makefile may run Maven at the same time, on the same local repository
        status = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False).returncode
    if status:
        errors = [line for line in log.read_text().splitlines() if "[ERROR]" in line or "ERROR" in line]
        reason = re.sub(r"\x1b\[[0-9;]*m", "", errors[0]) if errors else f"status {status}"
        raise Missing(f"Maven could not fetch the jars: {reason[:300]} Full output: {log.relative_to(ROOT)}.")


def _check_fetched(name: str, folder: Path) -> None:
    wrong = _wrong(name, folder)
    if wrong:
        found = _digest(folder / wrong[0]) or "no file"
        raise Missing(
            f"{wrong[0].name} is not the file this project was tested with (SHA-256 {found[:12]}…, expected "
            f"{_listed(name)[wrong[0]][:12]}…) and was not installed. Delete Maven's copy "
            f"(~/.m2/repository, the folder {wrong[0].stem}) and run `make setup` again."
        )


def _build_demo_fs() -> bool:
    """Compile the demo's file system with the Hadoop of pyspark, if its source has changed."""
    stamp = DEMO_FS.with_suffix(".source")
    source = _digest(DEMO_FS_SOURCE) or ""
    if DEMO_FS.exists() and stamp.exists() and stamp.read_text() == source:
        return False
    classes = DEMO_FS.parent / "classes"
    shutil.rmtree(classes, ignore_errors=True)
    compile_java(DEMO_FS_SOURCE, classes)
    with zipfile.ZipFile(DEMO_FS, "w") as jar:
        for path in sorted(classes.rglob("*.class")):
            jar.write(path, path.relative_to(classes))
    shutil.rmtree(classes)
    stamp.write_text(source)
    return True


def compile_java(source: Path, classes: Path) -> None:
    """Compile a file system of the project with the Hadoop of pyspark into a new folder. Raises Missing."""
    javac = _require_tool("javac")
    classes.mkdir(parents=True)
    command = [javac, "--release", str(JAVA), "-nowarn", "-proc:none", "-Xlint:none", "-cp", _hadoop(), "-d"]
    done = subprocess.run([*command, str(classes), str(source)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"javac cannot compile {source.relative_to(ROOT)}: {done.stderr.splitlines()[0]}")


def _hadoop() -> str:
    found = find_spec("pyspark")
    if not found or not found.origin:
        raise Missing("pyspark is not installed for this Python. Run `make setup`, or use .venv/bin/python.")
    return str(Path(found.origin).parent / "jars" / "*")


def _require_tool(name: str) -> str:
    """Return `java` or `javac` where Spark looks for it: JAVA_HOME first, then PATH."""
    home = os.environ.get("JAVA_HOME")
    tool = str(Path(home) / "bin" / name) if home else shutil.which(name)
    if not tool or not Path(tool).exists():
        where = f"in JAVA_HOME ({home})" if home else "on this machine"
        raise Missing(f"There is no `{name}` {where}; Spark 3.5 needs Java {JAVA}. {INSTALL}")
    done = subprocess.run([tool, "-version"], capture_output=True, text=True, check=False)
    version = re.search(r'(?:version "|javac )(\d+)', done.stdout + done.stderr)
    if not version or int(version[1]) < JAVA:
        raise Missing(f"{tool} is Java {version[1] if version else 'of no known version'}; {JAVA} is needed. {INSTALL}")
    return tool


if __name__ == "__main__":
    sys.exit(main())
