package io.headwater.transport;

import io.openlineage.client.OpenLineage;
import io.openlineage.client.OpenLineageClientUtils;
import io.openlineage.client.transports.Transport;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Stores events as files in a lakehouse or another store, for applications that cannot reach a receiver.
 *
 * <p>The listener's thread only adds an event's JSON to a queue. It never waits and never gets an error. A kill loses the events
 * in the queue.
 */
public final class OneLakeTransport extends Transport {
  private static final Logger LOG = LoggerFactory.getLogger(OneLakeTransport.class);

  private final EventQueue queue;
  private final Losses losses;
  private final Application application;
  private final WriterThread thread;
  private final ExitHook exit;

  /** Validate the settings and start the writer; throws IllegalArgumentException with the reason. */
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

  /** Write the queued events, at most for the configured time. Remaining events are lost and logged. */
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
        queue.hurry(); // listeners up to 1.27 do not close the transport
      }
    } catch (Throwable error) { // an Error on Spark's listener thread would stop the application
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
