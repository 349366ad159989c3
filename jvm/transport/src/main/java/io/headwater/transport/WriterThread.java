package io.headwater.transport;

/** The daemon thread of a transport. It writes full batches at once, incomplete ones at intervals, and the rest at the end. */
final class WriterThread extends Thread {
  private final EventQueue queue;
  private final BatchWriter writer;
  private final Limits limits;
  private volatile boolean stopped;

  WriterThread(EventQueue queue, BatchWriter writer, Limits limits) {
    super("headwater-onelake-transport");
    setDaemon(true);
    this.queue = queue;
    this.writer = writer;
    this.limits = limits;
  }

  @Override
  public void run() {
    try {
      boolean all = false;
      boolean last = false;
      while (!stopped && !last) {
        last = queue.isClosed();
        long away = writer.write(limits.batchSize, all || last);
        if (away > 0) {
          last = false;
          queue.awaitRetry(away);
        } else if (!last) {
          all = queue.awaitBatch(limits.flushMillis);
        }
      }
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
    }
  }

  /** Reject further events and wait, up to the limit, until all are written; then the thread ends after its current attempt. */
  void drain() throws InterruptedException {
    queue.close();
    join(limits.closeMillis);
    stopped = true;
  }
}
