"""Read, copy and delete single files through Hadoop's file systems, without Spark jobs."""

from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headwater.common.failpoints import reach_failpoint

_RENAMED = ("file", "hdfs")
"""URI schemes of storage in which a rename is atomic and keeps the modification time. Elsewhere it may be a copy."""


class HadoopFiles:
    """Accesses single files of any storage that Spark can access. Methods take full paths or URIs."""

    def __init__(self, spark: SparkSession):
        context: Any = spark.sparkContext
        self._hadoop = context._jvm.org.apache.hadoop
        self._io = context._jvm.org.apache.commons.io
        self._conf = context._jsc.hadoopConfiguration()

    def exists(self, path: str) -> bool:
        """Return whether a file exists."""
        place, system = self._file_system_and_path(path)
        return bool(system.exists(place))

    def read(self, path: str, begin: int, end: int) -> bytes:
        """Return the bytes of a file from `begin` to `end` (exclusive).

        Returns fewer bytes if the file is shorter, and none if the file does not exist.
        """
        try:
            place, system = self._file_system_and_path(path)
            file = system.open(place)
            try:
                file.seek(begin)
                return bytes(self._io.IOUtils.toByteArray(self._bounded_stream(file, end - begin)))
            finally:
                file.close()
        except Py4JJavaError as error:
            if "FileNotFound" not in str(error) and "EOF" not in str(error):
                raise
            return b""

    def copy(self, path: str, begin: int, end: int, to: str) -> None:
        """Copy the bytes from `begin` to `end` (exclusive) to another file, within the JVM."""
        place, system = self._file_system_and_path(path)
        target, store = self._file_system_and_path(to)
        file = system.open(place)
        try:
            file.seek(begin)
            copy = store.create(target, True)
            try:
                self._io.IOUtils.copyLarge(self._bounded_stream(file, end - begin), copy)
            finally:
                copy.close()
        finally:
            file.close()

    def qualified_uri(self, path: str) -> str:
        """Return the full URI of a path, in the form in which Spark lists it."""
        place, system = self._file_system_and_path(path)
        return str(system.makeQualified(place).toString())

    def delete(self, path: str, length: int, modified_us: int) -> bool:
        """Delete a file unless it has changed since it was listed. Return whether it was deleted.

        On a disk and on HDFS, this method renames the file and checks it again before the deletion. A concurrent writer
        then creates a new file under the old name. If the process is killed before the deletion, the content remains
        in a file with a name that ends with `.deleting`.

        length, modified_us: length in bytes and modification time of the file when it was listed.
        """
        place, system = self._file_system_and_path(path)
        if not self._is_unchanged(system, place, length, modified_us):
            return False
        reach_failpoint("deletion.looked")
        if system.getUri().getScheme() not in _RENAMED:
            return bool(system.delete(place, False))
        renamed = self._hadoop.fs.Path(place.getParent(), f"{uuid4()}.deleting")
        try:
            if not system.rename(place, renamed):
                return False
        except Py4JJavaError as error:
            return _false_if_missing(error)
        reach_failpoint("deletion.renamed")
        if self._is_unchanged(system, renamed, length, modified_us):
            return bool(system.delete(renamed, False))
        if not system.exists(place):
            system.rename(renamed, place)
        return False

    def _is_unchanged(self, system: Any, place: Any, length: int, modified_us: int) -> bool:
        try:
            found = system.getFileStatus(place)
        except Py4JJavaError as error:
            return _false_if_missing(error)
        return bool((found.getLen(), found.getModificationTime()) == (length, modified_us // 1000))

    def _file_system_and_path(self, path: str) -> tuple[Any, Any]:
        place = self._hadoop.fs.Path(path)
        return place, place.getFileSystem(self._conf)

    def _bounded_stream(self, file: Any, size: int) -> Any:
        return self._io.input.BoundedInputStream(file, size)


def _false_if_missing(error: Py4JJavaError) -> bool:
    """Return False if the error means that a file is missing. Raises any other error."""
    if "FileNotFound" not in str(error):
        raise error
    return False
