"""Commit with Delta's internal classes: set several transactions in one commit, and replace rows with few Spark jobs.

Spark's DataFrame writer sets one transaction for each commit (`txnAppId`, `txnVersion`), so a batch of 32 partitions
would need 32 commits for each table. The writer also cannot check which versions the caller expects. To replace rows,
the writer lists the files in one Spark job and computes the table's state in another. If a table has few files, the
checksum file of its newest commit contains both the list and the state. Databricks has its own Delta library, in which
these classes are missing.
"""

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession

from headwater.common.errors import LakeUnavailable

log = logging.getLogger(__name__)

TransactionVersions = Mapping[str, int]
"""Versions of transactions by application id. A transaction that was never set has version 0."""


class DeltaInternalsMissing(Exception):
    """This cluster's Delta library lacks a Java class or method that `DeltaCommits` needs. Nothing was committed."""


@dataclass
class PartitionFiles:
    """The files of one partition of a table. files: a Java list; size: bytes of all files; rows: rows of the files."""

    files: Any
    size: int = 0
    rows: DataFrame = field(init=False)


class DeltaCommits:
    """Reads and commits Delta tables with the internal classes of Delta."""

    def __init__(self, spark: SparkSession, package: str = "org.apache.spark.sql.delta"):
        """package: the Java package of Delta's classes."""
        self._spark: Any = spark
        self._jvm: Any = getattr(spark.sparkContext, "_jvm")  # noqa: B009 - typed as if it could be missing
        self._package = package
        self._is_unavailable = False
        self._delta: Any = getattr(self._jvm, package)
        self._convert: Any = self._jvm.scala.collection.JavaConverters

    @property
    def is_available(self) -> bool:
        """Whether this cluster has Delta's internal classes, unless a call has found that one of them is missing."""
        return not self._is_unavailable and isinstance(self._delta.DeltaLog, JavaClass)

    @contextmanager
    def _translate_missing_classes(self) -> Iterator[None]:
        """Raise DeltaInternalsMissing if a class or method is missing. From then on, `is_available` is False."""
        try:
            yield
        except (Py4JJavaError, Py4JNetworkError):
            raise
        except Py4JError as error:
            self._is_unavailable = True
            log.info("Delta's internal classes are missing. Using the DataFrame writer, with more jobs. %s", error)
            raise DeltaInternalsMissing from error

    def properties(self, uri: str) -> Mapping[str, str]:
        """Return the current properties of a table."""
        return dict(self._convert.mapAsJavaMap(self._snapshot(uri).metadata().configuration()))

    def transaction_versions(self, uri: str, app_ids: list[str]) -> dict[str, int]:
        """Return the current version of each transaction in a table by its application id, or 0 if it was never set."""
        return self._transaction_versions(self._snapshot(uri), app_ids)

    def read_current_version(self, uri: str, where: Column | None = None) -> DataFrame:
        """Return the rows of a table's current version. Lists the table's files once, not in each job that reads them.

        where: if set, files are skipped if their statistics show that no row matches the condition. The returned rows
        may still include rows that do not match. Raises DeltaInternalsMissing.
        """
        with self._translate_missing_classes():
            if where is None:
                snapshot = self._snapshot(uri)
                return self._frame_of_files(snapshot, self._all_files(snapshot))
            scan = self._scan(uri, where)
            return self._frame_of_files(scan.scannedSnapshot(), scan.files())

    def partition_files(self, uri: str, column: str) -> Mapping[str, PartitionFiles]:
        """Return the files of a table's newest version, by value of the partition column `column`. Lists them once.

        Raises DeltaInternalsMissing.
        """
        with self._translate_missing_classes():
            snapshot = self._snapshot(uri)
            found: dict[str, PartitionFiles] = {}
            for file in self._java_list(self._all_files(snapshot)):
                added = json.loads(file.json())["add"]
                value = added["partitionValues"][column]
                part = found.get(value) or found.setdefault(value, PartitionFiles(self._jvm.java.util.ArrayList()))
                part.files.add(file)
                part.size += added["size"]
            for part in found.values():
                part.rows = self._frame_of_files(snapshot, self._scala_seq(part.files))
            return found

    def overwrite(self, uri: str, rows: DataFrame, after: TransactionVersions, *, appends: bool = False) -> None:
        """Replace all rows of a table in one commit, which also sets transaction versions.

        Does nothing if a transaction in `after` already has its new version or a higher one. Of two concurrent commits,
        only one succeeds.

        after: the new version of each transaction. appends: append the rows instead of replacing all rows.
        Raises DeltaInternalsMissing.
        """
        with self._translate_missing_classes():
            transaction = self._begin(uri)
            snapshot = transaction.snapshot()
            done = self._transaction_versions(snapshot, after) if after else {}
            if not any(done[app_id] >= version for app_id, version in after.items()):
                transaction.readWholeTable()
                self._commit(transaction, rows, after, None if appends else self._all_files(snapshot))

    def change(self, uri: str, where: Column, replacement: Callable[[DataFrame], DataFrame]) -> None:
        """Replace the files that may contain rows that match `where`, in one commit. Raises DeltaInternalsMissing.

        replacement: takes all rows of these files and returns the rows that replace them.
        """
        with self._translate_missing_classes():
            scan = self._scan(uri, where)
            transaction = self._begin(uri, scan.scannedSnapshot())
            transaction.readWholeTable()
            self._commit(
                transaction, replacement(self._frame_of_files(scan.scannedSnapshot(), scan.files())), {}, scan.files()
            )

    def append(self, uri: str, rows: DataFrame, before: TransactionVersions, after: TransactionVersions) -> None:
        """Append rows in one commit, which changes transaction versions from `before` to `after`.

        Raises LakeUnavailable if the current versions differ from `before`, or if the commit fails.
        """
        transaction = self._begin(uri)
        found = {app_id: max(0, transaction.txnVersion(app_id)) for app_id in before}
        if found != dict(before):
            raise LakeUnavailable(f"Another writer has moved the transactions of {uri}. Run only one stream into it.")
        try:
            self._commit(transaction, rows, after)
        except (PySparkException, Py4JJavaError) as error:
            reason = str(error).splitlines()[0]
            raise LakeUnavailable(f"Cannot append to {uri}: {reason}. The batch will be repeated.") from error

    def _begin(self, uri: str, snapshot: Any = None) -> Any:
        table, option = self._delta.DeltaLog.forTable(self._activate_session(), uri), self._jvm.scala.Option
        return table.startTransaction(option.empty(), option.apply(snapshot))

    def _activate_session(self) -> Any:
        """Make our session the active session of this thread. Delta reads the active session's settings.

        Delta also creates frames in the active session. Returns the Java session.
        """
        session = self._spark._jsparkSession
        getattr(self._jvm, session.getClass().getName()).setActiveSession(session)
        return session

    def _commit(self, transaction: Any, rows: DataFrame, after: TransactionVersions, replaced: Any = None) -> None:
        """Write rows and commit them. after: the new transaction versions. replaced: files that the commit removes."""
        actions = self._jvm.java.util.ArrayList(self._java_list(transaction.writeFiles(rows._jdf)))
        for file in () if replaced is None else self._java_list(replaced):
            actions.add(file.remove())
        now = self._jvm.scala.Option.apply(time.time_ns() // 1_000_000)
        for app_id, version in after.items():
            actions.add(self._delta.actions.SetTransaction(app_id, version, now))
        transaction.commit(self._scala_seq(actions), self._write_operation())

    def _write_operation(self) -> Any:
        """Return the operation `Write` for the history of the table, with the save mode and no other details.

        The operation is not `ManualUpdate`, because Delta writes no checksum file for that operation. The number of
        constructor parameters depends on the version of Delta.
        """
        name = "DeltaOperations$Write"
        loader = self._spark._jsparkSession.getClass().getClassLoader()
        count = loader.loadClass(f"{self._package}.{name}").getConstructors()[0].getParameterCount()
        none = self._jvm.scala.Option.empty()
        return getattr(self._delta, name)(self._jvm.org.apache.spark.sql.SaveMode.Append, *[none] * (count - 1))

    def _snapshot(self, uri: str) -> Any:
        return self._delta.DeltaLog.forTableWithSnapshot(self._spark._jsparkSession, uri)._2()

    def _all_files(self, snapshot: Any) -> Any:
        """Return all files of a table as a Scala sequence, from the checksum file if it lists the files."""
        member = self._checksum_member(snapshot, "allFiles")
        return self._scala_seq(snapshot.allFiles().collectAsList()) if member is None else member

    def _transaction_versions(self, snapshot: Any, app_ids: Iterable[str]) -> dict[str, int]:
        member = self._checksum_member(snapshot, "setTransactions")
        versions = self._convert.mapAsJavaMap(snapshot.transactions()) if member is None else {}
        known = {each.appId(): each.version() for each in self._java_list(member)} if member is not None else versions
        return {app_id: int(known.get(app_id) or 0) for app_id in app_ids}

    def _checksum_member(self, snapshot: Any, name: str) -> Any:
        """Return a member of the checksum file. Returns None if the file or the member is missing.

        Without it, the caller computes the value with one or two Spark jobs.
        """
        checksum = snapshot.checksumOpt()
        found = getattr(checksum.get(), name)() if checksum.isDefined() else checksum
        return found.get() if found.isDefined() else None

    def _scan(self, uri: str, where: Column) -> Any:
        """Return Delta's scan of the files that may contain rows that match `where`, as for each query."""
        plan = self._spark.read.format("delta").load(uri).where(where)._jdf.queryExecution().optimizedPlan()
        while not plan.children().isEmpty():
            plan = plan.children().head()
        return plan.relation().location().preparedScan()

    def _frame_of_files(self, snapshot: Any, files: Any) -> DataFrame:
        self._activate_session()
        none = self._jvm.scala.Option.empty()
        return DataFrame(snapshot.deltaLog().createDataFrame(snapshot, files, False, none), self._spark)

    def _java_list(self, seq: Any) -> Any:
        return self._convert.seqAsJavaList(seq)

    def _scala_seq(self, items: Any) -> Any:
        return self._convert.asScalaBuffer(items).toSeq()
