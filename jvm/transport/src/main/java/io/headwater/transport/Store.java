package io.headwater.transport;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * A folder in any store that Hadoop can access with the session's credentials.
 *
 * <p>Every call gets the file system from Hadoop, which caches it and reopens it if other code has closed it.
 */
final class Store {
  private final Path folder;
  private final Application application;

  Store(Path folder, Application application) {
    this.folder = folder;
    this.application = application;
  }

  /** Create the folder. This fails if writes would fail. */
  void prepare() throws IOException {
    if (!open().mkdirs(folder)) {
      throw new IOException("the folder cannot be made");
    }
  }

  /**
   * Write a file atomically. Repeating the call is safe.
   *
   * <p>The temporary name starts with a dot, so that Spark and {@code headwater ingest} ignore it. A rename may succeed although
   * its response is lost; in that case, the file already exists.
   */
  void put(BatchFile file) throws IOException {
    FileSystem files = open();
    Path day = new Path(folder, file.folder());
    Path place = new Path(day, file.name());
    if (files.exists(place)) {
      return;
    }
    Path temporary = new Path(day, "." + file.name() + ".tmp");
    try (OutputStream out = files.create(temporary, true)) {
      file.writeTo(out);
    }
    if (!files.rename(temporary, place)) {
      throw new IOException("the store does not rename " + temporary.getName());
    }
  }

  private FileSystem open() throws IOException {
    return folder.getFileSystem(application.configuration());
  }

  @Override
  public String toString() {
    return folder.toString();
  }
}
