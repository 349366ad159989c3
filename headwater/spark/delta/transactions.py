"""Commits by Delta's own classes: of several application transactions, and of rows that replace others with few jobs.

The writer's options `txnAppId` and `txnVersion` name one transaction, so a batch of 32 partitions would be 32 commits a
table; and they say what is written, not what the writer believed to be there. Before it replaces rows it lists files
and works out the table's state, each a Spark job, though the checksum beside the newest commit names both where files
are few. Databricks' own Delta has other classes.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession

from headwater.common.errors import LakeUnavailable

log = logging.getLogger(__name__)

Marks = Mapping[str, int]
"""Transaction (app id) to version, 0 where there is none."""


class OtherDelta(Exception):
    """This cluster's Delta has other classes, or its settings hide what is asked of them; nothing was committed."""


class Transactions:
    """The transactions of Delta tables."""

    def __init__(self, spark: SparkSession, package: str = "org.apache.spark.sql.delta"):
        """Touch nothing yet; package: where Delta's classes would be."""
        self._spark: Any = spark
        self._jvm: Any = getattr(spark.sparkContext, "_jvm")  # noqa: B009 - typed as if it could be missing
        self._package = package
        self._are_others = False
        self._delta: Any = getattr(self._jvm, package)
        self._convert: Any = self._jvm.scala.collection.JavaConverters

    @property
    def are_there(self) -> bool:
        """Whether this cluster has these classes, as far as is known."""
        return not self._are_others and isinstance(self._delta.DeltaLog, JavaClass)

    @contextmanager
    def _tried(self) -> Iterator[None]:
        """Raise OtherDelta where a class or method is missing; from then on these classes are not there."""
        try:
            yield
        except (Py4JJavaError, Py4JNetworkError):
            raise
        except Py4JError as error:
            self._are_others = True
            log.info("This Delta has other classes: rows are replaced by its writer, with more jobs. %s", error)
            raise OtherDelta from error

    def properties(self, uri: str) -> Mapping[str, str]:
        """Return the properties of a table as it is now."""
        return dict(self._convert.mapAsJavaMap(self._snapshot(uri).metadata().configuration()))

    def versions(self, uri: str, app_ids: list[str]) -> dict[str, int]:
        """Return the versions of transactions as they are now."""
        return self._marks(self._snapshot(uri), app_ids)

    def files(self, uri: str, where: Column | None = None) -> DataFrame:
        """Return a table as it is now, its files listed once, here, and not by each job that reads it.

        where: what the rows are that are asked for; files that hold none of these by their statistics are left out.
        Raises OtherDelta.
        """
        with self._tried():
            if where is None:
                snapshot = self._snapshot(uri)
                return self._frame(snapshot, self._every(snapshot))
            scan = self._scan(uri, where)
            return self._frame(scan.scannedSnapshot(), scan.files())

    def overwrite(self, uri: str, rows: DataFrame, after: Marks) -> None:
        """Replace all rows in one commit that moves transactions; does nothing where one is as far already.

        Raises OtherDelta.
        """
        with self._tried():
            transaction = self._begin(uri)
            snapshot = transaction.snapshot()
            done = self._marks(snapshot, after) if after else {}
            if not any(done[app_id] >= version for app_id, version in after.items()):
                transaction.readWholeTable()
                self._commit(transaction, rows, after, self._every(snapshot))

    def change(self, uri: str, where: Column, become: Callable[[DataFrame], DataFrame]) -> None:
        """Let the rows of all files in which `where` may hold become others, whichever these are, in one commit.

        Raises OtherDelta.
        """
        with self._tried():
            scan = self._scan(uri, where)
            transaction = self._begin(uri, scan.scannedSnapshot())
            transaction.readWholeTable()
            self._commit(transaction, become(self._frame(scan.scannedSnapshot(), scan.files())), {}, scan.files())

    def append(self, uri: str, rows: DataFrame, before: Marks, after: Marks) -> None:
        """Append rows in one commit that moves transactions; raises LakeUnavailable if they were not as in `before`."""
        transaction = self._begin(uri)
        found = {app_id: max(0, transaction.txnVersion(app_id)) for app_id in before}
        if found != dict(before):
            raise LakeUnavailable(f"Another writer has moved the transactions of {uri}. Stop all but one stream.")
        try:
            self._commit(transaction, rows, after)
        except (PySparkException, Py4JJavaError) as error:
            reason = str(error).splitlines()[0]
            raise LakeUnavailable(f"Cannot append to {uri}: {reason}. The batch is tried again.") from error

    def _begin(self, uri: str, snapshot: Any = None) -> Any:
        table, option = self._delta.DeltaLog.forTable(self._active(), uri), self._jvm.scala.Option
        return table.startTransaction(option.empty(), option.apply(snapshot))

    def _active(self) -> Any:
        """Return our session, from now on this thread's: Delta takes that one's settings, and makes frames of it."""
        session = self._spark._jsparkSession
        getattr(self._jvm, session.getClass().getName()).setActiveSession(session)
        return session

    def _commit(self, transaction: Any, rows: DataFrame, after: Marks, replaced: Any = None) -> None:
        """Write rows and commit them; replaced: the files that go."""
        actions = self._jvm.java.util.ArrayList(self._list(transaction.writeFiles(rows._jdf)))
        for file in () if replaced is None else self._list(replaced):
            actions.add(file.remove())
        now = self._jvm.scala.Option.apply(time.time_ns() // 1_000_000)
        for app_id, version in after.items():
            actions.add(self._delta.actions.SetTransaction(app_id, version, now))
        transaction.commit(self._seq(actions), self._write())

    def _write(self) -> Any:
        """Return what a commit is called; it has more members in newer Delta, all of which may be none.

        Not a manual update: beside such a commit Delta writes no checksum.
        """
        name = "DeltaOperations$Write"
        loader = self._spark._jsparkSession.getClass().getClassLoader()
        count = loader.loadClass(f"{self._package}.{name}").getConstructors()[0].getParameterCount()
        none = self._jvm.scala.Option.empty()
        return getattr(self._delta, name)(self._jvm.org.apache.spark.sql.SaveMode.Append, *[none] * (count - 1))

    def _snapshot(self, uri: str) -> Any:
        return self._delta.DeltaLog.forTableWithSnapshot(self._spark._jsparkSession, uri)._2()

    def _every(self, snapshot: Any) -> Any:
        """Return all files of a table: as the checksum beside the commit names them, where these are few."""
        said = self._said(snapshot, "allFiles")
        return self._seq(snapshot.allFiles().collectAsList()) if said is None else said

    def _marks(self, snapshot: Any, app_ids: Iterable[str]) -> dict[str, int]:
        said = self._said(snapshot, "setTransactions")
        every = self._convert.mapAsJavaMap(snapshot.transactions()) if said is None else {}
        known = {each.appId(): each.version() for each in self._list(said)} if said is not None else every
        return {app_id: int(known.get(app_id) or 0) for app_id in app_ids}

    def _said(self, snapshot: Any, what: str) -> Any:
        """Return what the checksum beside the commit says: to work it out takes a job or two."""
        checksum = snapshot.checksumOpt()
        found = getattr(checksum.get(), what)() if checksum.isDefined() else checksum
        return found.get() if found.isDefined() else None

    def _scan(self, uri: str, where: Column) -> Any:
        """Let Delta choose the files in which rows may be for which `where` holds, as it does for each query."""
        plan = self._spark.read.format("delta").load(uri).where(where)._jdf.queryExecution().optimizedPlan()
        while not plan.children().isEmpty():
            plan = plan.children().head()
        return plan.relation().location().preparedScan()

    def _frame(self, snapshot: Any, files: Any) -> DataFrame:
        self._active()
        none = self._jvm.scala.Option.empty()
        return DataFrame(snapshot.deltaLog().createDataFrame(snapshot, files, False, none), self._spark)

    def _list(self, seq: Any) -> Any:
        return self._convert.seqAsJavaList(seq)

    def _seq(self, items: Any) -> Any:
        return self._convert.asScalaBuffer(items).toSeq()
