"""A pass whose driver is a process of its own in the JVM of a session that is there, as a notebook's is on a cluster.

It can be killed or halted like any other, and needs no second JVM, whose first pass costs three times a later one.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from headwater.common import failpoints
from headwater.common.errors import LakeUnavailable
from headwater.lineage.rules.user_rules import UserRules
from headwater.spark.file_ingest.hadoop_files import HadoopFiles
from headwater.spark.file_ingest.source_kinds import StorageSource, ingest_source
from headwater.spark.refresh import refresh
from tests.support.paths import ROOT
from tests.support.running import started

REFUSED = 3
"""The status of a command that ends with one of our errors."""

DELETE = "delete"
"""In place of a lake: deletes the file behind it, if it has the length and time (us) that follow."""

_ROOT = ROOT


def driver(spark: SparkSession, lake: str, failpoint: str, *place: str) -> subprocess.Popen[str]:
    """Start a pass over a lake that reaches a fail point; its errors are on standard error.

    place: takes the files there into bronze in place of a pass.
    """
    assert spark.sparkContext._gateway
    gateway = spark.sparkContext._gateway.gateway_parameters
    own = {"PYSPARK_GATEWAY_PORT": str(gateway.port), "PYSPARK_GATEWAY_SECRET": gateway.auth_token}
    environment = {**os.environ, **own, failpoints.VARIABLE: failpoint}
    command = [sys.executable, "-W", "ignore", "-m", "tests.support.spark.spark_driver", lake, *place]
    return subprocess.Popen(command, cwd=_ROOT, env=environment, stderr=subprocess.PIPE, text=True)


def killed(spark: SparkSession, lake: str, where: str, *place: str) -> None:
    """Make a pass, or take files in, and be killed at a fail point."""
    process = driver(spark, lake, where, *place)
    errors = process.communicate(timeout=900)[1]
    assert process.returncode == -signal.SIGKILL, errors


@contextmanager
def halted(spark: SparkSession, lake: str, where: str) -> Iterator[subprocess.Popen[str]]:
    """Give a pass that stands still at a fail point."""
    process = driver(spark, lake, f"{where}:halt")
    with standing(process):
        yield process


@contextmanager
def standing(process: subprocess.Popen[str]) -> Iterator[None]:
    """Wait until a process stands still at a fail point; kill it behind, if it has not ended."""
    try:
        found = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert found
        assert found.si_code == os.CLD_STOPPED, process.communicate()
        yield
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


@contextmanager
def halted_with_its_jvm(folder: Path, where: str) -> Iterator[subprocess.Popen[str]]:
    """Give the command's pass that stands still at a fail point, with the JVM in which others of its writes go on."""
    process = started("spark", "refresh", "--data", folder, environment={failpoints.VARIABLE: f"{where}:halt"})
    with standing(process):
        to_all(process, signal.SIGSTOP)
        try:
            yield process
        finally:
            if process.poll() is None:
                to_all(process, signal.SIGKILL)


def to_all(process: subprocess.Popen[str], sent: signal.Signals) -> None:
    """Send a signal to a process and those that it started; a worker of Spark's may end meanwhile."""
    own = psutil.Process(process.pid)
    for each in [own, *own.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            each.send_signal(sent)


def let_go_on(process: subprocess.Popen[str]) -> str:
    """Wake a pass that stands still, with its own JVM; return what it says on standard error until it ends."""
    to_all(process, signal.SIGCONT)
    return process.communicate(timeout=900)[1]


def _session() -> SparkSession:
    """Return a session of our own, with its own settings, in the JVM that the environment names."""
    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    java = gateway.jvm.JavaSparkContext(gateway.jvm.org.apache.spark.SparkContext.getOrCreate())
    context = SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jvm=gateway.jvm, _jconf=java.getConf()))
    return SparkSession(context).newSession()


def main() -> int:
    """Do what is asked for; an error of ours is its last line and its status."""
    _, lake, *places = sys.argv
    try:
        if lake == DELETE:
            HadoopFiles(_session()).delete(places[0], *map(int, places[1:]))
        elif places:
            ingest_source(_session(), lake, StorageSource(places[0], "lines"))
        else:
            refresh(_session(), lake, UserRules())
    except LakeUnavailable as error:
        sys.stderr.write(f"{error}\n")
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main())
