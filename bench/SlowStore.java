package headwater.bench;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.util.Progressable;

/** A local file system under {@code slow://NAME/} that adds a configurable delay to each call. */
public final class SlowStore extends RawLocalFileSystem {
  private static volatile long millis;
  private URI uri;

  /** Set the delay of each new call in milliseconds; calls that already wait keep the old delay. */
  public static void answerLateBy(long late) {
    millis = late;
  }

  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    uri = name;
    super.initialize(name, conf);
  }

  @Override
  public URI getUri() {
    return uri == null ? super.getUri() : uri; // the superclass constructor calls this before initialize()
  }

  @Override
  public boolean mkdirs(Path path) throws IOException {
    answerLate();
    return super.mkdirs(path);
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    answerLate();
    return super.getFileStatus(path);
  }

  @Override
  public FSDataOutputStream create(
      Path path, boolean overwrite, int buffer, short copies, long block, Progressable progress) throws IOException {
    answerLate();
    return super.create(path, overwrite, buffer, copies, block, progress);
  }

  @Override
  public boolean rename(Path from, Path to) throws IOException {
    answerLate();
    return super.rename(from, to);
  }

  private void answerLate() throws IOException {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
      throw new IOException(stop);
    }
  }
}
