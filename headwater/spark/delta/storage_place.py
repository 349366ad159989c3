"""Read and write files through Hadoop's file systems, as Spark does. No method starts a Spark job."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession


class StoragePlace:
    """A folder in storage, which may not exist yet. Methods take the names of files relative to this folder.

    local: path of the folder on a disk, or empty if the folder is on other storage.
    """

    def __init__(self, spark: SparkSession, folder: str):
        """folder: a path or a URI that Spark can read."""
        context: Any = spark.sparkContext
        self._jvm = context._jvm
        self._folder = self._path(folder)
        self._system = self._folder.getFileSystem(context._jsc.hadoopConfiguration())
        qualified = self._system.makeQualified(self._folder).toUri()
        self.local = str(qualified.getPath()) if qualified.getScheme() == "file" else ""

    def names(self) -> Sequence[str]:
        """Return the names of the files and folders in this folder. Returns none if it does not exist."""
        try:
            found = self._system.listStatus(self._folder)
        except Py4JJavaError as error:
            if "FileNotFound" not in str(error):
                raise
            return []
        return [str(file.getPath().getName()) for file in found]

    def exists(self, name: str) -> bool:
        """Return whether a file or folder with this name exists."""
        return bool(self._system.exists(self._path_of(name)))

    def read(self, name: str) -> str:
        """Return the content of a UTF-8 file."""
        file = self._system.open(self._path_of(name))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(file, "UTF-8"))
        finally:
            file.close()

    def create(self, name: str, text: str) -> bool:
        """Create a file with a text. Returns False, and changes nothing, if the file exists already."""
        try:
            self._write(name, text, over=False)
        except Py4JJavaError as error:
            if "FileAlreadyExists" not in str(error):
                raise
            return False
        return True

    def write(self, name: str, text: str) -> None:
        """Write a text to a file. Replaces an existing file."""
        self._write(name, text, over=True)

    def create_named_last(self, pieces: Iterable[bytes], name: Callable[[], str]) -> bool:
        """Write a file atomically, and determine its name after its content is written.

        pieces: the content. name: called after all pieces are written; returns the name of the file. Returns False, and
        creates no file, if a file with this name exists. Raises OSError if the storage does not rename the file.
        """
        temporary, final = self._path_of(f".{uuid4()}.tmp"), None  # Spark's readers ignore such names
        try:
            file = self._system.create(temporary, False)
            try:
                for piece in pieces:
                    file.write(bytearray(piece))
            finally:
                file.close()
            final = self._path_of(name())
            if self._system.exists(final):
                return False
            self._system.mkdirs(final.getParent())
            if not self._system.rename(temporary, final) and not self._system.exists(final):
                raise OSError(f"The storage did not rename a temporary file to {final}.")
        finally:
            self._system.delete(temporary, False)
        return True

    def remove(self, name: str) -> None:
        """Delete a file, or a folder with its contents. Does nothing if neither exists."""
        self._system.delete(self._path_of(name), True)

    def modified_s(self, name: str) -> float:
        """Return when a file was last written, in seconds since 1970 by the storage's clock. A missing file gives 0."""
        try:
            return float(self._system.getFileStatus(self._path_of(name)).getModificationTime()) / 1000
        except Py4JJavaError as error:
            if "FileNotFound" not in str(error):
                raise
            return 0.0

    def _write(self, name: str, text: str, *, over: bool) -> None:
        file = self._system.create(self._path_of(name), over)
        file.write(bytearray(text.encode()))
        file.close()

    def _path_of(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._folder, name)

    def _path(self, text: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(text)
