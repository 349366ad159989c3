package io.headwater.spark;

import java.lang.reflect.Field;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerInterface;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Waits until Spark's listeners have processed every event that was posted before.
 *
 * <p>Spark passes events to its listeners in order, on one thread per queue. A marker in the queue of the OpenLineage listener
 * therefore arrives after all earlier events, and it does not wait for later ones. Waiting for an empty queue would not end
 * under load.
 */
final class ListenerBarrier {
  private static final Logger LOG = LoggerFactory.getLogger(HeadwaterPlugin.class);
  private static final String OPENLINEAGE = "io.openlineage.spark.agent.OpenLineageSparkListener";
  private static final String ASYNC = "spark.openlineage.circuitBreaker.type";
  private static final long REPOST_MILLIS = 1_000;
  private static final long LOOK_MILLIS = 20;

  private final SparkContext context;
  private boolean registered;

  ListenerBarrier(SparkContext context) {
    this.context = context;
  }

  /** Wait at most this long; returns whether everything posted before the call was processed. */
  boolean await(long millis) {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    try {
      return awaitMarker(deadline) && awaitTaskQueue(deadline);
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /**
   * Wait at most this long until the queue is empty. For use when the context stops and nothing new is posted.
   *
   * <p>This does not delay the end, because Spark waits for its listeners without a limit.
   */
  boolean awaitEmpty(long millis) {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    try {
      context.listenerBus().waitUntilEmpty(millis);
      return awaitTaskQueue(deadline);
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
      return false;
    } catch (Exception | LinkageError error) { // TimeoutException is undeclared in Scala; the bus may differ in other versions
      LOG.warn("Headwater plugin: Spark's listeners are behind: {}.", error.toString());
      return false;
    }
  }

  /** Return the approximate number of Spark events that wait for listeners; -1 if this Spark version hides its queues. */
  long waiting() {
    try {
      long most = 0;
      for (Object queue : (List<?>) field(context.listenerBus(), "queues")) {
        most = Math.max(most, ((AtomicLong) field(queue, "eventCount")).get());
      }
      return most;
    } catch (ReflectiveOperationException | RuntimeException | LinkageError other) {
      return -1;
    }
  }

  private boolean awaitMarker(long deadline) throws InterruptedException {
    register();
    CountDownLatch seen = new CountDownLatch(1);
    while (true) {
      // a full queue silently drops events, so the marker is posted repeatedly; any copy is sufficient
      context.listenerBus().post(new Marker(seen));
      long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
      if (seen.await(Math.max(0, Math.min(left, REPOST_MILLIS)), TimeUnit.MILLISECONDS)) {
        return true;
      }
      if (left <= REPOST_MILLIS) {
        return false;
      }
    }
  }

  private synchronized void register() {
    if (!registered) {
      context.addSparkListener(new MarkerListener());
      registered = true;
    }
  }

  /** Wait for OpenLineage's circuit breaker `asyncTaskQueue`, which processes the listener's events on separate threads. */
  private boolean awaitTaskQueue(long deadline) throws InterruptedException {
    if (!"asyncTaskQueue".equalsIgnoreCase(context.getConf().get(ASYNC, ""))) {
      return true;
    }
    ThreadPoolExecutor threads = taskQueue();
    while (threads != null) {
      if (threads.getCompletedTaskCount() >= threads.getTaskCount()) {
        return true;
      }
      if (System.nanoTime() >= deadline) {
        return false;
      }
      Thread.sleep(LOOK_MILLIS);
    }
    LOG.warn("Headwater plugin: this OpenLineage listener does not show its task queue, so a flush cannot tell whether it is behind.");
    return false;
  }

  private ThreadPoolExecutor taskQueue() {
    for (SparkListenerInterface each : context.listenerBus().listeners()) {
      if (each.getClass().getName().equals(OPENLINEAGE)) {
        try {
          return (ThreadPoolExecutor) field(field(each, "circuitBreaker"), "eventProcessingExecutor");
        } catch (ReflectiveOperationException | RuntimeException other) {
          return null;
        }
      }
    }
    return null;
  }

  private static Object field(Object of, String name) throws ReflectiveOperationException {
    Field field = of.getClass().getDeclaredField(name);
    field.setAccessible(true);
    return field.get(of);
  }

  private static final class Marker implements SparkListenerEvent {
    private final CountDownLatch seen;

    Marker(CountDownLatch seen) {
      this.seen = seen;
    }

    @Override
    public boolean logEvent() {
      return false; // keep the marker out of Spark's event log
    }
  }

  private static final class MarkerListener extends SparkListener {
    @Override
    public void onOtherEvent(SparkListenerEvent event) {
      if (event instanceof Marker) {
        ((Marker) event).seen.countDown();
      }
    }
  }
}
