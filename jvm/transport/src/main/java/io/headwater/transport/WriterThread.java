package io.headwater.transport;

/** The one daemon thread of a transport: a batch as soon as it is full, all that waits now and then, the rest at the end. */
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

  /** Take no more events, and wait until all are written, at most as long as may be; then it ends with the next attempt. */
  void drain() throws InterruptedException {
    queue.close();
    join(limits.closeMillis);
    stopped = true;
  }
}
