package io.headwater.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.zip.GZIPInputStream;
import org.apache.hadoop.fs.Path;

/**
 * Recognizes events that the listener sends about a flush: events that only write the plugin's table.
 *
 * <p>If they were stored, every flush would cause another one.
 */
final class OwnEvents {
  private static final ObjectMapper JSON = new ObjectMapper();

  private OwnEvents() {}

  /** Return whether a body is such an event; location: the location of the table, or null if it is not known yet. */
  static boolean isOf(Body body, String location) {
    if (location == null) {
      return false;
    }
    String path = bare(new Path(location).toUri().getPath());
    try (InputStream in = inflated(body)) {
      byte[] bytes = in.readNBytes(Endpoint.MAX_BODY_BYTES);
      // most events do not contain the path, and searching for it is cheaper than parsing the JSON
      return new String(bytes, StandardCharsets.UTF_8).contains(path) && onlyOutput(JSON.readTree(bytes).path("outputs"), path);
    } catch (IOException | RuntimeException noEvent) {
      return false; // not a valid event, so it is stored unchanged
    }
  }

  private static boolean onlyOutput(JsonNode outputs, String path) {
    for (JsonNode each : outputs) {
      if (!bare(each.path("name").asText()).equals(path)) {
        return false;
      }
    }
    return outputs.size() > 0;
  }

  /** Return the name without outer slashes; only listeners up to 1.27 start names in a container with a slash. */
  private static String bare(String name) {
    String begun = name.startsWith("/") ? name.substring(1) : name;
    return begun.endsWith("/") ? begun.substring(0, begun.length() - 1) : begun;
  }

  private static InputStream inflated(Body body) throws IOException {
    InputStream in = new ByteArrayInputStream(body.bytes);
    return "gzip".equals(body.headers.get("content-encoding")) ? new GZIPInputStream(in) : in;
  }
}
