package io.headwater.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.Clock;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.Semaphore;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Handles the requests of the driver's endpoint. */
final class DriverDesk implements Desk {
  private static final Logger LOG = LoggerFactory.getLogger(HeadwaterPlugin.class);
  private static final long CLOSE_MILLIS = 600_000;
  private static final int FLUSHES_AT_ONCE = 4; // fewer than the endpoint's threads, so that the listener can always post

  private final PluginSettings settings;
  private final SparkContext context;
  private final String namespace;
  private final SpillFolder disk;
  private final Buffer buffer;
  private final DropCount drops = new DropCount(Clock.systemUTC());
  private final LineageTable table;
  private final Flush flush;
  private final ListenerBarrier listeners;
  private final Semaphore flushes = new Semaphore(FLUSHES_AT_ONCE);

  DriverDesk(PluginSettings settings, SparkContext context, SparkConf conf) {
    this.settings = settings;
    this.context = context;
    namespace = conf.get("spark.openlineage.namespace", null);
    disk = new SpillFolder(settings);
    buffer = new Buffer(settings.bufferBytes, disk);
    table = new DeltaLineageTable(settings, context);
    flush = new Flush(buffer, disk, table, context.hadoopConfiguration());
    listeners = new ListenerBarrier(context);
  }

  @Override
  public Answer take(String method, String path, Map<String, String> headers, Instant receivedAt, byte[] bytes) {
    Body body = new Body(application(), "driver", method, path, headers, receivedAt, bytes);
    if (OwnEvents.isOf(body, table.location())) {
      return Answer.taken(body.id);
    }
    if (!buffer.offer(body)) {
      drops.count();
      return Answer.dropped();
    }
    return Answer.taken(body.id);
  }

  /** Accept a body from an executor. If there is no room, the executor tells its client, so this is not counted as a loss. */
  boolean takeForwarded(Body body) {
    return buffer.offer(body);
  }

  @Override
  public Answer flush(long listenerMillis) {
    if (!flushes.tryAcquire()) {
      return Answer.later(FLUSHES_AT_ONCE + " flushes are running already.");
    }
    try {
      boolean complete = listeners.await(listenerMillis);
      offerLosses();
      ObjectNode result = Answer.object().put("bodies", flush.write()).put("table", settings.table);
      return complete ? Answer.of(result) : behind(result, listenerMillis);
    } catch (IOException | RuntimeException error) {
      LOG.error("Headwater plugin: LINEAGE IS NOT WRITTEN, it waits on: {}", error.toString());
      return Answer.later(error.toString());
    } finally {
      flushes.release();
    }
  }

  /** Return an error although the batch was written, because events from before the flush are missing. */
  private Answer behind(ObjectNode result, long listenerMillis) {
    long waiting = listeners.waiting();
    String reason =
        "Spark's listeners have not processed everything that was posted before this flush, after waiting "
            + listenerMillis / 1_000.0 + " s" + (waiting < 0 ? "." : "; about " + waiting + " Spark events wait for them.");
    LOG.warn("Headwater plugin: {}", reason);
    result.put("listener_waiting", waiting).put("error", reason);
    return Answer.later(result);
  }

  @Override
  public Answer health() {
    ObjectNode said = Answer.object();
    said.put("application", application().id());
    said.put("executor", "driver");
    said.put("table", settings.table);
    said.put("waiting", buffer.waiting());
    said.put("waiting_bytes", buffer.bytes());
    said.put("spilled_bytes", disk.size());
    said.put("dropped", drops.total());
    return Answer.of(said);
  }

  /** Wait for the listeners when the context stops. Events that a listener posts after this are lost. */
  void awaitListeners() {
    if (!listeners.awaitEmpty(CLOSE_MILLIS)) {
      LOG.error("Headwater plugin: THE LISTENER IS STILL BEHIND: events that it sends from now on are lost.");
    }
  }

  /** Store the waiting bodies for the next session. */
  void close() {
    buffer.close();
    offerLosses();
    flush.leave();
  }

  private void offerLosses() {
    Body losses = drops.take(application(), namespace);
    if (losses != null) {
      buffer.offerAnyway(losses);
    }
  }

  private Application application() {
    return new Application(context.applicationId(), context.appName());
  }
}
