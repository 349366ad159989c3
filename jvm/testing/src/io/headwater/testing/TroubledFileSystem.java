package io.headwater.testing;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.util.Progressable;

/** A local file system under {@code troubled://NAME/} that simulates the faults of a remote store. */
public final class TroubledFileSystem extends RawLocalFileSystem {
  public static final String SCHEME = "troubled";
  private static final Map<String, Trouble> TROUBLES = new ConcurrentHashMap<>();

  private URI uri;
  private Trouble trouble;

  /** The current faults of a store. */
  public static final class Trouble {
    /** The error that every call throws, for example without a token. */
    public volatile IOException refusal;

    /** The number of bytes until the store is full. */
    public volatile long room = Long.MAX_VALUE;

    /** Whether a rename succeeds but its response is lost. */
    public volatile boolean losesAnswers;

    /** Whether a rename fails without an error, as HDFS does if the name exists. */
    public volatile boolean renamesNothing;

    /** Permits for writes; a write without a permit waits. */
    public final Semaphore gate = new Semaphore(1_000_000);

    /** Gets a permit for each write that starts and for each file that is renamed to its final name. */
    public final Semaphore begun = new Semaphore(0);

    public final Semaphore landed = new Semaphore(0);
  }

  /** Set the faults of the store with this name. */
  public static void trouble(String name, Trouble trouble) {
    TROUBLES.put(name, trouble);
  }

  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    uri = name;
    trouble = TROUBLES.get(name.getAuthority());
    super.initialize(name, conf);
  }

  @Override
  public URI getUri() {
    return uri == null ? super.getUri() : uri; // the superclass constructor calls this before initialize()
  }

  @Override
  public boolean mkdirs(Path path) throws IOException {
    refuse();
    return super.mkdirs(path);
  }

  @Override
  public FSDataOutputStream create(
      Path path, boolean overwrite, int buffer, short copies, long block, Progressable progress) throws IOException {
    refuse();
    trouble.begun.release();
    trouble.gate.acquireUninterruptibly();
    return new FSDataOutputStream(new Filling(super.create(path, overwrite, buffer, copies, block, progress)), null);
  }

  @Override
  public boolean rename(Path from, Path to) throws IOException {
    refuse();
    if (trouble.renamesNothing) {
      return false;
    }
    boolean done = super.rename(from, to);
    trouble.landed.release();
    if (trouble.losesAnswers) {
      throw new IOException("Connection reset");
    }
    return done;
  }

  private void refuse() throws IOException {
    if (trouble.refusal != null) {
      throw trouble.refusal;
    }
  }

  private final class Filling extends FilterOutputStream {
    private Filling(OutputStream out) {
      super(out);
    }

    @Override
    public void write(byte[] bytes, int from, int count) throws IOException {
      for (int each = from; each < from + count; each++) {
        write(bytes[each]);
      }
    }

    @Override
    public void write(int one) throws IOException {
      if (trouble.room-- <= 0) {
        throw new IOException("No space left on device");
      }
      out.write(one);
    }
  }
}
