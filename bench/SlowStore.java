package headwater.bench;

import java.io.IOException;
import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.util.Progressable;

/** This machine's disk as {@code slow://NAME/}; each call takes {@code headwater.bench.NAME.millis} longer. */
public final class SlowStore extends RawLocalFileSystem {
  private URI uri;
  private long millis;

  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    uri = name;
    millis = conf.getLong("headwater.bench." + name.getAuthority() + ".millis", 0);
    super.initialize(name, conf);
  }

  @Override
  public URI getUri() {
    return uri == null ? super.getUri() : uri; // asked by the constructor, before it has a name
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
