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

/** Brings what waits into the table: of this session, and of those before it that could not. */
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
   * Write all that waits now; returns how many bodies.
   *
   * <p>Throws IOException if the table does not take them: they wait on, as the same batches.
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
   * Put what waits where the next session finds it, and say so; nothing may be added to the buffer any more.
   *
   * <p>Also while a write hangs: what lies there and landed after all is passed over, by the batch's id.
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

  /** Beside the table, where also a session on another machine finds it; else on this machine's disk. */
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

  /** A store out of reach is tried for many minutes by Hadoop, and the end of a session waits for this. */
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

  /** Two sessions that make the table at once, or take the same file over, hinder one another once. */
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
