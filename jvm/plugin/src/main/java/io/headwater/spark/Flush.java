package io.headwater.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes waiting bodies to the table, including those that earlier sessions could not write. */
final class Flush {
  private static final Logger LOG = LoggerFactory.getLogger(HeadwaterPlugin.class);
  private static final int ATTEMPTS = 3;
  private static final long LAKE_MILLIS = 30_000;

  private final Buffer buffer;
  private final SpillFolder disk;
  private final LineageTable table;
  private final Configuration configuration;
  private final long lakeMillis;
  private boolean lakeHangs;

  Flush(Buffer buffer, SpillFolder disk, LineageTable table, Configuration configuration) {
    this(buffer, disk, table, configuration, LAKE_MILLIS);
  }

  Flush(Buffer buffer, SpillFolder disk, LineageTable table, Configuration configuration, long lakeMillis) {
    this.buffer = buffer;
    this.disk = disk;
    this.table = table;
    this.configuration = configuration;
    this.lakeMillis = lakeMillis;
  }

  /**
   * Write all waiting bodies and return their number.
   *
   * <p>Throws IOException if the write fails. The bodies then stay in the same batches.
   */
  synchronized int write() throws IOException {
    int bodies = 0;
    for (Batch batch : buffer.seal()) {
      bodies += append(batch);
      buffer.remove(batch);
    }
    return bodies + takeOver();
  }

  /**
   * Store the waiting bodies for the next session, and log where. The buffer must be closed.
   *
   * <p>This is safe while a write is in progress: if the write succeeds, the next session skips the batch by its ID.
   */
  void leave() {
    int kept = 0;
    int lost = 0;
    List<String> places = new ArrayList<>();
    for (Batch batch : buffer.seal()) {
      int bodies = 0;
      try {
        bodies = batch.bodies().size();
        places.add(leave(batch));
        kept += bodies;
      } catch (IOException error) {
        lost += bodies;
        LOG.error("Headwater plugin: a batch can be left nowhere: {}.", error.toString());
      }
    }
    disk.close();
    if (kept > 0) {
      LOG.warn(
          "Headwater plugin: {} LINEAGE EVENTS ARE NOT IN {} YET: a context that stops cannot write a table. They wait in {}; the"
              + " next session's flush takes them.",
          kept, table.name(), places);
    }
    if (lost > 0) {
      LOG.error("Headwater plugin: {} LINEAGE EVENTS ARE LOST.", lost);
    }
  }

  /** Store a batch next to the table, where sessions on other machines find it, or else on the local disk. */
  private String leave(Batch batch) throws IOException {
    IOException reason = null;
    if (table.location() != null && !lakeHangs) {
      try {
        String place = inTime(() -> new LakeFolder(table.location(), configuration).put(batch));
        buffer.remove(batch);
        return place;
      } catch (IOException error) {
        reason = error;
      }
    }
    try {
      disk.keep(batch);
      return disk.folder() + "/" + batch.id() + SpillFile.SUFFIX;
    } catch (IOException error) {
      if (reason != null) {
        error.addSuppressed(reason);
      }
      throw error;
    }
  }

  /** Run with a time limit, because Hadoop retries an unreachable store for minutes and the end of the session would wait. */
  private String inTime(Callable<String> work) throws IOException {
    FutureTask<String> task = new FutureTask<>(work);
    Thread thread = new Thread(task, "headwater-plugin-leave");
    thread.setDaemon(true);
    thread.start();
    try {
      return task.get(lakeMillis, TimeUnit.MILLISECONDS);
    } catch (ExecutionException failed) {
      throw new IOException(failed.getCause());
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted");
    } catch (TimeoutException late) {
      lakeHangs = true;
      throw new IOException("the store does not answer");
    }
  }

  private int takeOver() throws IOException {
    int bodies = 0;
    List<Batch> left = disk.left();
    if (table.location() != null) {
      left.addAll(new LakeFolder(table.location(), configuration).left());
    }
    for (Batch batch : left) {
      bodies += append(batch);
      batch.discard();
    }
    return bodies;
  }

  /** Append a batch with retries, because two sessions that create the table or process the same file can conflict once. */
  private int append(Batch batch) throws IOException {
    for (int attempt = 1; ; attempt++) {
      try {
        table.append(batch);
        return batch.bodies().size();
      } catch (IOException error) {
        if (attempt == ATTEMPTS) {
          throw error;
        }
        LOG.warn("Headwater plugin: a batch is tried again: {}", error.getMessage());
      }
    }
  }
}
