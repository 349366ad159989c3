package io.headwater.transport;

import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * A folder of any store that the session's Hadoop reaches, with the session's own credentials.
 *
 * <p>The file system is asked for each time: Hadoop keeps it, and gives a new one when somebody has closed it.
 */
final class Store {
  private final Path folder;
  private final Application application;

  Store(Path folder, Application application) {
    this.folder = folder;
    this.application = application;
  }

  /** Make the folder: fails where a write would fail, too. */
  void prepare() throws IOException {
    if (!open().mkdirs(folder)) {
      throw new IOException("the folder cannot be made");
    }
  }

  /**
   * Write a file, which readers see whole or not at all; doing it again is safe.
   *
   * <p>Its temporary name begins with a dot, which Spark and {@code headwater ingest} pass over. A rename may have come through
   * although its answer did not: then the file is there already.
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
