package io.headwater.transport;

import io.openlineage.client.OpenLineageClientUtils;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts the events dropped since the last file, logs them at most once a minute, and reports them in the next file.
 *
 * <p>The report is the last line of the file and not an OpenLineage event: {@code {"headwater": {"transport": "onelake",
 * "application": …, "applicationName": …, "namespace": …, "dropped": 12, "queueFull": 11, "unserialisable": 1, "since": …,
 * "until": …}}}. {@code namespace} is the namespace of the application's jobs and is omitted if it is not set; {@code dropped}
 * is the sum of the two reasons; {@code since} and {@code until} are the times (UTC) of the first and the last drop.
 */
final class Losses {
  private static final Logger LOG = LoggerFactory.getLogger(OneLakeTransport.class);
  private static final Duration SILENCE = Duration.ofMinutes(1);

  private final Clock clock;
  private long queueFull;
  private long unserialisable;
  private long total;
  private Instant since;
  private Instant until;
  private Instant said = Instant.MIN;

  Losses(Clock clock) {
    this.clock = clock;
  }

  /** Count an event that did not fit into the queue. */
  synchronized void countQueueFull() {
    queueFull++;
    count("The queue is full or closed: lineage comes faster than the store takes it, or the store fails.");
  }

  /** Count an event that could not be serialized as JSON. */
  synchronized void countUnserialisable(Object event, Throwable reason) {
    unserialisable++;
    count(event.getClass().getSimpleName() + " cannot be written as JSON: " + reason);
  }

  /** Return the line that reports the losses, and reset the counts; null if there are none. */
  synchronized byte[] take(Application application) {
    if (!any()) {
      return null;
    }
    Map<String, Object> told = new LinkedHashMap<>();
    told.put("transport", OneLakeTransportBuilder.TYPE);
    told.put("application", application.id());
    told.put("applicationName", application.name());
    if (application.namespace() != null) {
      told.put("namespace", application.namespace());
    }
    told.put("dropped", queueFull + unserialisable);
    told.put("queueFull", queueFull);
    told.put("unserialisable", unserialisable);
    told.put("since", since.toString());
    told.put("until", until.toString());
    byte[] line = OpenLineageClientUtils.toJson(Map.of("headwater", told)).getBytes(StandardCharsets.UTF_8);
    queueFull = 0;
    unserialisable = 0;
    return line;
  }

  synchronized boolean any() {
    return queueFull + unserialisable > 0;
  }

  /** Return the total number of dropped events, reported or not. */
  synchronized long total() {
    return total;
  }

  private void count(String reason) {
    until = clock.instant();
    since = queueFull + unserialisable == 1 ? until : since;
    total++;
    if (said.isBefore(until.minus(SILENCE))) {
      LOG.warn("OneLake transport: {} lineage events dropped so far. {}", total, reason);
      said = until;
    }
  }
}
