package io.headwater.spark;

import java.time.Instant;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkConf;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Handles the requests of an executor's endpoint: forwards bodies to the driver before it responds. */
final class ExecutorDesk implements Desk {
  private static final Logger LOG = LoggerFactory.getLogger(HeadwaterPlugin.class);

  private final Application application;
  private final String executor;
  private final Driver driver;
  private final AtomicLong forwarded = new AtomicLong();
  private final AtomicLong refused = new AtomicLong();

  /** Sends messages to the driver. */
  interface Driver {
    /** Send a serialized {@link Body}; returns whether the driver had room, and throws Spark's error if it is unreachable. */
    boolean take(byte[] line) throws Exception;
  }

  ExecutorDesk(Application application, String executor, Driver driver) {
    this.application = application;
    this.executor = executor;
    this.driver = driver;
  }

  /** Return the maximum body size for Spark's message limit; base64 makes a body a third larger. */
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
    } catch (Exception error) { // Spark does not declare its exceptions
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
