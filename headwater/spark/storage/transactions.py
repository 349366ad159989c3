"""Delta's application transactions from Spark, several in one commit; by Delta's own classes, as Python has no way.

The writer's options `txnAppId` and `txnVersion` name one transaction, so a batch of 32 partitions would be 32 commits a
table; and they say what is written, not what the writer believed to be there. Databricks' own Delta has other classes.
"""

import time
from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import LakeUnavailable

Marks = Mapping[str, int]
"""Transaction (app id) to version, 0 where there is none."""


class Transactions:
    """The transactions of Delta tables."""

    def __init__(self, spark: SparkSession):
        """Touch nothing yet."""
        self._spark: Any = spark
        self._jvm: Any = getattr(spark.sparkContext, "_jvm")  # noqa: B009 - typed as if it could be missing
        self._delta: Any = self._jvm.org.apache.spark.sql.delta
        self._convert: Any = self._jvm.scala.collection.JavaConverters

    def properties(self, uri: str) -> Mapping[str, str]:
        """Return the properties of a table as it is now."""
        return dict(self._convert.mapAsJavaMap(self._snapshot(uri).metadata().configuration()))

    def versions(self, uri: str, app_ids: list[str]) -> dict[str, int]:
        """Return the versions of transactions as they are now."""
        found = self._snapshot(uri).transactions()
        return {app_id: int(found.get(app_id).get()) if found.contains(app_id) else 0 for app_id in app_ids}

    def append(self, uri: str, rows: DataFrame, before: Marks, after: Marks) -> None:
        """Append rows in one commit that moves transactions; raises LakeUnavailable if they were not as in `before`."""
        log = self._delta.DeltaLog.forTable(self._spark._jsparkSession, uri)
        none = self._jvm.scala.Option.empty()
        transaction = log.startTransaction(none, none)
        found = {app_id: max(0, transaction.txnVersion(app_id)) for app_id in before}
        if found != dict(before):
            raise LakeUnavailable(f"Another writer has moved the transactions of {uri}. Stop all but one stream.")
        try:
            files = self._convert.seqAsJavaList(transaction.writeFiles(rows._jdf))
            actions = self._jvm.java.util.ArrayList(files)
            now = self._jvm.scala.Option.apply(time.time_ns() // 1_000_000)
            for app_id, version in after.items():
                actions.add(self._delta.actions.SetTransaction(app_id, version, now))
            transaction.commit(self._convert.asScalaBuffer(actions).toSeq(), self._operation())
        except (PySparkException, Py4JJavaError) as error:
            reason = str(error).splitlines()[0]
            raise LakeUnavailable(f"Cannot append to {uri}: {reason}. The batch is tried again.") from error

    def _snapshot(self, uri: str) -> Any:
        return self._delta.DeltaLog.forTableWithSnapshot(self._spark._jsparkSession, uri)._2()

    def _operation(self) -> Any:
        return getattr(getattr(self._delta, "DeltaOperations$ManualUpdate$"), "MODULE$")
