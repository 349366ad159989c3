package io.headwater.spark;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Counts dropped bodies, logs them at most once a minute, and reports them in a row of the table. */
final class DropCount {
  private static final Logger LOG = LoggerFactory.getLogger(HeadwaterPlugin.class);
  private static final Duration SILENCE = Duration.ofMinutes(1);
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Clock clock;
  private long untold;
  private long total;
  private Instant since;
  private Instant until;
  private Instant said = Instant.MIN;

  DropCount(Clock clock) {
    this.clock = clock;
  }

  synchronized void count() {
    until = clock.instant();
    since = untold == 0 ? until : since;
    untold++;
    total++;
    if (said.isBefore(until.minus(SILENCE))) {
      LOG.warn(
          "Headwater plugin: {} lineage events dropped so far: memory and disk are full. Flush more often, or raise {}bufferBytes"
              + " or {}spillBytes.",
          total, PluginSettings.PREFIX, PluginSettings.PREFIX);
      said = until;
    }
  }

  /** Return the row that reports the losses, and reset the count; null if there are none. */
  synchronized Body take(Application application, String namespace) {
    if (untold == 0) {
      return null;
    }
    ObjectNode line = JSON.createObjectNode();
    ObjectNode told = line.putObject("headwater");
    told.put("transport", "plugin");
    told.put("application", application.id());
    told.put("applicationName", application.name());
    if (namespace != null) {
      told.put("namespace", namespace); // readers of the line reject a null
    }
    told.put("dropped", untold);
    told.put("queueFull", untold);
    told.put("unserialisable", 0);
    told.put("since", since.toString());
    told.put("until", until.toString());
    untold = 0;
    byte[] bytes = line.toString().getBytes(StandardCharsets.UTF_8);
    return new Body(application, "driver", Body.LOSSES, "", Map.of(), until, bytes);
  }

  synchronized long total() {
    return total;
  }
}
