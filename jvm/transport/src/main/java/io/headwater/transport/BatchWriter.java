package io.headwater.transport;

import java.time.Clock;
import java.time.Instant;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes the queued events to files, batch by batch, and repeats failed batches unchanged. */
final class BatchWriter {
  private static final Logger LOG = LoggerFactory.getLogger(OneLakeTransport.class);
  private static final long UNTIL_SPARK_IS_UP_MILLIS = 500;

  private final EventQueue queue;
  private final Losses losses;
  private final Store store;
  private final Application application;
  private final Clock clock;
  private final Backoff backoff = new Backoff();
  private boolean prepared;
  private BatchFile pending;
  private Instant last = Instant.EPOCH;
  private Instant silentUntil = Instant.MIN;

  BatchWriter(EventQueue queue, Losses losses, Store store, Application application, Clock clock) {
    this.queue = queue;
    this.losses = losses;
    this.store = store;
    this.application = application;
    this.clock = clock;
  }

  /**
   * Write all due events, or stop at the first failure.
   *
   * @param all whether an incomplete batch is due as well
   * @return milliseconds to wait before the next attempt; 0 if all due events were written
   */
  long write(int batchSize, boolean all) {
    try {
      if (!queue.isClosed() && !application.isStarted()) {
        return UNTIL_SPARK_IS_UP_MILLIS;
      }
      prepare();
      while (pending != null || queue.size() >= (all ? 1 : batchSize) || all && losses.any()) {
        writeOne();
      }
      backoff.succeeded();
      silentUntil = Instant.MIN;
    } catch (Throwable error) { // including OutOfMemoryError and linkage errors: the thread must survive
      failed(error);
    }
    return backoff.millis();
  }

  private void prepare() throws Exception {
    if (!prepared) {
      store.prepare();
      LOG.info("OneLake transport: lineage goes to {}.", store);
      prepared = true;
    }
  }

  private void writeOne() throws Exception {
    if (pending == null) {
      pending = new BatchFile(next(), queue.head(), losses.take(application));
    }
    store.put(pending);
    queue.remove(pending.events());
    pending = null;
  }

  /** Return the current time, but always later than the previous result, so that file names sort in event order. */
  private Instant next() {
    Instant now = Instant.ofEpochMilli(clock.millis());
    last = now.isAfter(last) ? now : last.plusMillis(1);
    return last;
  }

  /** Log at most one line per backoff interval, because the store is tried four times a second while the application ends. */
  private void failed(Throwable error) {
    boolean first = backoff.millis() == 0;
    backoff.failed();
    Instant now = Instant.ofEpochMilli(clock.millis());
    if (now.isBefore(silentUntil)) {
      return;
    }
    silentUntil = now.plusMillis(backoff.millis());
    if (!prepared && first) {
      LOG.error(
          "OneLake transport: LINEAGE CANNOT BE STORED at {}. Are a session token or other credentials for it in reach, and may"
              + " it be written to? It is tried again, events wait in memory, and what finds no room is dropped and counted."
              + " The reason: {}",
          store, onOneLine(error));
    } else {
      LOG.warn(
          "OneLake transport: {} events wait for {}, which is tried again {}. The reason: {}",
          queue.size(),
          store,
          queue.isClosed() ? "until the time to close is over" : "in " + backoff.millis() / 1_000 + " s",
          onOneLine(error));
    }
  }

  private static String onOneLine(Throwable error) {
    return error.toString().replaceAll("\\s+", " ");
  }
}
