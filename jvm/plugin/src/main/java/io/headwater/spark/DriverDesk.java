package io.headwater.spark;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.Clock;
import java.time.Instant;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What stands behind the driver's endpoint. */
final class DriverDesk implements Desk {
  private static final Logger LOG = LoggerFactory.getLogger(HeadwaterPlugin.class);
  private static final long LISTENERS_MILLIS = 10_000;

  private final PluginSettings settings;
  private final SparkContext context;
  private final String namespace;
  private final SpillFolder disk;
  private final Buffer buffer;
  private final DropCount drops = new DropCount(Clock.systemUTC());
  private final LineageTable table;
  private final Flush flush;

  DriverDesk(PluginSettings settings, SparkContext context, SparkConf conf) {
    this.settings = settings;
    this.context = context;
    namespace = conf.get("spark.openlineage.namespace", null);
    disk = new SpillFolder(settings);
    buffer = new Buffer(settings.bufferBytes, disk);
    table = new DeltaLineageTable(settings, context);
    flush = new Flush(buffer, disk, table, context.hadoopConfiguration());
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

  /** Take what an executor forwards; if there is no room its client is told, and nothing is lost here. */
  boolean takeForwarded(Body body) {
    return buffer.offer(body);
  }

  @Override
  public Answer flush() {
    awaitListeners();
    try {
      offerLosses();
      int bodies = flush.write();
      return Answer.of(Answer.object().put("bodies", bodies).put("table", settings.table));
    } catch (IOException | RuntimeException error) {
      LOG.error("Headwater plugin: LINEAGE IS NOT WRITTEN, it waits on: {}", error.toString());
      return Answer.later(error.toString());
    }
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

  /** Wait until Spark's listeners have worked off what happened so far: what they tell of it comes here. */
  void awaitListeners() {
    try {
      context.listenerBus().waitUntilEmpty(LISTENERS_MILLIS);
    } catch (Exception | LinkageError error) { // Scala declares no TimeoutException; another Spark may have another bus
      LOG.warn("Headwater plugin: listeners are busy, their events of now come later: {}.", error.toString());
    }
  }

  /** Leave what waits to the next session. */
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
