package io.headwater.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;

/**
 * An HTTP request that an endpoint accepted, or a report of dropped requests: one row of the table.
 *
 * <p>{@link #line} serializes it for transfer from executors to the driver and for files.
 */
final class Body {
  /** The method in a row that reports dropped bodies. */
  static final String LOSSES = "LOSSES";

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int OVERHEAD_BYTES = 512;
  private static final byte[] BYTES = ",\"body\":\"".getBytes(StandardCharsets.UTF_8);
  private static final byte[] END = "\"}".getBytes(StandardCharsets.UTF_8);

  final String id;
  final Application application;
  final String executor;
  final String method;
  final String path;
  final Map<String, String> headers;
  final Instant receivedAt;
  final byte[] bytes;

  /** Create a body with a new ID. */
  Body(
      Application application, String executor, String method, String path, Map<String, String> headers, Instant receivedAt,
      byte[] bytes) {
    this(UUID.randomUUID().toString(), application, executor, method, path, headers, receivedAt, bytes);
  }

  private Body(
      String id, Application application, String executor, String method, String path, Map<String, String> headers,
      Instant receivedAt, byte[] bytes) {
    this.id = id;
    this.application = application;
    this.executor = executor;
    this.method = method;
    this.path = path;
    this.headers = headers;
    this.receivedAt = receivedAt;
    this.bytes = bytes;
  }

  /** Return the approximate size in memory. */
  long size() {
    long size = OVERHEAD_BYTES + bytes.length + path.length();
    for (Map.Entry<String, String> header : headers.entrySet()) {
      size += header.getKey().length() + header.getValue().length();
    }
    return size;
  }

  /** Return the body as a line of JSON without the line end; the bytes come last, in base64. */
  byte[] line() {
    ObjectNode node = JSON.createObjectNode();
    node.put("id", id);
    node.put("application_id", application.id());
    node.put("application_name", application.name());
    node.put("executor_id", executor);
    node.put("method", method);
    node.put("path", path);
    ObjectNode named = node.putObject("headers");
    headers.forEach(named::put);
    node.put("received_at", receivedAt.toString());
    byte[] told = node.toString().getBytes(StandardCharsets.UTF_8);
    ByteArrayOutputStream line = new ByteArrayOutputStream(told.length + BYTES.length + bytes.length * 4 / 3 + END.length + 4);
    line.write(told, 0, told.length - 1);
    line.writeBytes(BYTES);
    line.writeBytes(Base64.getEncoder().encode(bytes));
    line.writeBytes(END);
    return line.toByteArray();
  }

  /**
   * Parse a line; throws IOException if it is invalid, for example truncated.
   *
   * <p>The bytes are decoded separately, because Jackson rejects strings of more than 20 million characters.
   */
  static Body read(byte[] line) throws IOException {
    int end = line.length - END.length;
    int begin = end;
    while (begin > 0 && line[begin - 1] != '"') {
      begin--; // base64 has no quotes
    }
    int told = begin - BYTES.length;
    if (told < 1 || !Arrays.equals(line, end, line.length, END, 0, END.length)
        || !Arrays.equals(line, told, begin, BYTES, 0, BYTES.length)) {
      throw new IOException("this is no line of a body");
    }
    byte[] bytes = Base64.getDecoder().decode(Arrays.copyOfRange(line, begin, end));
    byte[] rest = Arrays.copyOf(line, told + 1);
    rest[told] = '}';
    JsonNode node = JSON.readTree(rest);
    Map<String, String> headers = new TreeMap<>();
    for (Iterator<Map.Entry<String, JsonNode>> each = node.path("headers").fields(); each.hasNext(); ) {
      Map.Entry<String, JsonNode> header = each.next();
      headers.put(header.getKey(), header.getValue().asText());
    }
    return new Body(
        node.path("id").asText(),
        new Application(node.path("application_id").asText(null), node.path("application_name").asText(null)),
        node.path("executor_id").asText(), node.path("method").asText(), node.path("path").asText(), headers,
        Instant.parse(node.path("received_at").asText()), bytes);
  }
}
