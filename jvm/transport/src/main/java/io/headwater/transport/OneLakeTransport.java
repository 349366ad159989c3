package io.headwater.transport;

import io.openlineage.client.OpenLineage;
import io.openlineage.client.OpenLineageClientUtils;
import io.openlineage.client.transports.Transport;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Stores events as files of a lakehouse or another store, where no receiver can be reached.
 *
 * <p>The listener's thread only puts an event's JSON into a queue: it never waits and never sees an error. A kill loses what is
 * in the queue.
 */
public final class OneLakeTransport extends Transport {
  private static final Logger LOG = LoggerFactory.getLogger(OneLakeTransport.class);

  private final EventQueue queue;
  private final Losses losses;
  private final Application application;
  private final WriterThread thread;
  private final ExitHook exit;

  /** Check the settings and start to write; throws IllegalArgumentException with the reason. */
  public OneLakeTransport(OneLakeTransportConfig config) {
    this(config, new SparkApplication(), Clock.systemUTC());
  }

  OneLakeTransport(OneLakeTransportConfig config, Application application, Clock clock) {
    Limits limits = new Limits(config);
    Store store = new Store(Destination.of(config), application);
    this.application = application;
    queue = new EventQueue(limits);
    losses = new Losses(clock);
    thread = new WriterThread(queue, new BatchWriter(queue, losses, store, application, clock), limits);
    thread.start();
    exit = new ExitHook(this::drain, limits);
  }

  @Override
  public void emit(OpenLineage.RunEvent event) {
    put(event);
  }

  @Override
  public void emit(OpenLineage.DatasetEvent event) {
    put(event);
  }

  @Override
  public void emit(OpenLineage.JobEvent event) {
    put(event);
  }

  /** Write what waits, at most as long as the settings say; what is left then is lost, and said. */
  @Override
  public void close() {
    exit.remove();
    drain();
  }

  private void put(Object event) {
    try {
      if (!queue.offer(OpenLineageClientUtils.toJson(event).getBytes(StandardCharsets.UTF_8))) {
        losses.countQueueFull();
      }
      if (application.isEnding()) {
        queue.hurry(); // listeners up to 1.27 close nothing at the application's end
      }
    } catch (Throwable error) { // an Error, too: on Spark's listener thread it would stop the whole application
      losses.countUnserialisable(event, error);
    }
  }

  private void drain() {
    try {
      thread.drain();
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
    }
    if (queue.size() > 0) {
      LOG.error(
          "OneLake transport: {} LINEAGE EVENTS ARE LOST: the store did not take them in time. {} were dropped before.",
          queue.size(), losses.total());
    }
  }
}
