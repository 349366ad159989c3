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
 * What the listener tells of a flush itself: events that write the plugin's table and nothing else.
 *
 * <p>Kept, they would have the next flush find something, and that one the next.
 */
final class OwnEvents {
  private static final ObjectMapper JSON = new ObjectMapper();

  private OwnEvents() {}

  /** Tell whether a body is such an event; location: of the table, null if it is not known yet. */
  static boolean isOf(Body body, String location) {
    if (location == null) {
      return false;
    }
    String path = bare(new Path(location).toUri().getPath());
    try (InputStream in = inflated(body)) {
      byte[] bytes = in.readNBytes(Endpoint.MAX_BODY_BYTES);
      // most events do not have its name anywhere: looking for it costs less than reading JSON
      return new String(bytes, StandardCharsets.UTF_8).contains(path) && onlyOutput(JSON.readTree(bytes).path("outputs"), path);
    } catch (IOException | RuntimeException noEvent) {
      return false; // it is kept as it is: who reads the table judges it
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

  /** Listeners up to 1.27 begin a name in a container with a slash, later ones do not. */
  private static String bare(String name) {
    String begun = name.startsWith("/") ? name.substring(1) : name;
    return begun.endsWith("/") ? begun.substring(0, begun.length() - 1) : begun;
  }

  private static InputStream inflated(Body body) throws IOException {
    InputStream in = new ByteArrayInputStream(body.bytes);
    return "gzip".equals(body.headers.get("content-encoding")) ? new GZIPInputStream(in) : in;
  }
}
