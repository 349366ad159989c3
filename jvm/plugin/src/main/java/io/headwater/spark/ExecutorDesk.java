package io.headwater.spark;

import java.time.Instant;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What stands behind an executor's endpoint: it answers when the driver has the body. */
final class ExecutorDesk implements Desk {
  private static final Logger LOG = LoggerFactory.getLogger(HeadwaterPlugin.class);

  private final Application application;
  private final String executor;
  private final Driver driver;
  private final AtomicLong forwarded = new AtomicLong();
  private final AtomicLong refused = new AtomicLong();

  /** Spark's way to the driver. */
  interface Driver {
    /** Return whether the driver has room for what {@link Body#line} made; throws what Spark throws if it is out of reach. */
    boolean take(byte[] line) throws Exception;
  }

  ExecutorDesk(Application application, String executor, Driver driver) {
    this.application = application;
    this.executor = executor;
    this.driver = driver;
  }

  /** Return how large a body may be, so that Spark takes its message: base64 makes it a third larger. */
  static int maxBodyBytes(SparkConf conf) {
    long message = (long) conf.getInt("spark.rpc.message.maxSize", 128) << 20;
    return (int) Math.min(Endpoint.MAX_BODY_BYTES, message / 2);
  }

  @Override
  public Answer take(String method, String path, Map<String, String> headers, Instant receivedAt, byte[] bytes) {
    Body body = new Body(application, executor, method, path, headers, receivedAt, bytes);
    try {
      if (driver.take(body.line())) {
        forwarded.incrementAndGet();
        return Answer.taken(body.id);
      }
      refused.incrementAndGet();
      return Answer.later("The driver has no room. Flush, and send it again.");
    } catch (Exception error) { // Spark's own are not declared either
      refused.incrementAndGet();
      LOG.warn("Headwater plugin: a body did not reach the driver: {}.", error.toString());
      return Answer.later("The driver does not answer. Send it again.");
    }
  }

  @Override
  public Answer flush(long listenerMillis) {
    return Answer.later("Only the driver flushes.");
  }

  @Override
  public Answer health() {
    return Answer.of(
        Answer.object().put("executor", executor).put("forwarded", forwarded.get()).put("refused", refused.get()));
  }
}
