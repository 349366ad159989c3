"""Single files by Spark's own storage layer, whichever that is: heads, ranges, deletions. None of it is a Spark job."""

from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headwater.common.failpoints import reach

_RENAMED = ("file", "hdfs")
"""Where a rename is one step that keeps a file's time; elsewhere it is a copy, or not known to."""


class HadoopFiles:
    """Files by their whole paths, as Spark lists them."""

    def __init__(self, spark: SparkSession):
        """Touch nothing yet."""
        context: Any = spark.sparkContext
        self._hadoop = context._jvm.org.apache.hadoop
        self._io = context._jvm.org.apache.commons.io
        self._conf = context._jsc.hadoopConfiguration()

    def exists(self, path: str) -> bool:
        """Tell whether a file is there."""
        place, system = self._at(path)
        return bool(system.exists(place))

    def read(self, path: str, begin: int, end: int) -> bytes:
        """Return some bytes of a file, fewer where it has no more; none of one that is gone."""
        try:
            place, system = self._at(path)
            file = system.open(place)
            try:
                file.seek(begin)
                return bytes(self._io.IOUtils.toByteArray(self._bounded(file, end - begin)))
            finally:
                file.close()
        except Py4JJavaError as error:
            if "FileNotFound" not in str(error) and "EOF" not in str(error):
                raise
            return b""

    def copy(self, path: str, begin: int, end: int, to: str) -> None:
        """Copy a range of a file, without the bytes passing through Python."""
        place, system = self._at(path)
        target, store = self._at(to)
        file = system.open(place)
        try:
            file.seek(begin)
            copy = store.create(target, True)
            try:
                self._io.IOUtils.copyLarge(self._bounded(file, end - begin), copy)
            finally:
                copy.close()
        finally:
            file.close()

    def qualified(self, path: str) -> str:
        """Return a path as Spark lists it."""
        place, system = self._at(path)
        return str(system.makeQualified(place).toString())

    def delete(self, path: str, length: int, modified_us: int) -> bool:
        """Delete a file that has not changed since the listing. Return whether it was deleted.

        On a disk and HDFS it is renamed first and looked at once more: a writer that comes meanwhile makes another one.
        Of a deletion that was killed `….deleting` is left, a file like any other.
        """
        place, system = self._at(path)
        if not self._is_still(system, place, length, modified_us):
            return False
        reach("deletion.looked")
        if system.getUri().getScheme() not in _RENAMED:
            return bool(system.delete(place, False))
        going = self._hadoop.fs.Path(place.getParent(), f"{uuid4()}.deleting")
        try:
            if not system.rename(place, going):
                return False
        except Py4JJavaError as error:
            return _gone(error)
        reach("deletion.renamed")
        if self._is_still(system, going, length, modified_us):
            return bool(system.delete(going, False))
        if not system.exists(place):
            system.rename(going, place)
        return False

    def _is_still(self, system: Any, place: Any, length: int, modified_us: int) -> bool:
        try:
            found = system.getFileStatus(place)
        except Py4JJavaError as error:
            return _gone(error)
        return bool((found.getLen(), found.getModificationTime()) == (length, modified_us // 1000))

    def _at(self, path: str) -> tuple[Any, Any]:
        place = self._hadoop.fs.Path(path)
        return place, place.getFileSystem(self._conf)

    def _bounded(self, file: Any, size: int) -> Any:
        return self._io.input.BoundedInputStream(file, size)


def _gone(error: Py4JJavaError) -> bool:
    """Return false for a file that is not there; raise anything else."""
    if "FileNotFound" not in str(error):
        raise error
    return False
