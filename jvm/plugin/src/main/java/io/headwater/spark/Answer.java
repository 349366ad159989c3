package io.headwater.spark;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** An HTTP response of an endpoint. */
final class Answer {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int LATER_SECONDS = 5;

  final int status;
  final ObjectNode said;
  final String header;
  final String value;

  private Answer(int status, ObjectNode said, String header, String value) {
    this.status = status;
    this.said = said;
    this.header = header;
    this.value = value;
  }

  /** Return 200 with a JSON object. */
  static Answer of(ObjectNode said) {
    return new Answer(200, said, null, null);
  }

  /** Return 202: the driver has accepted the body. */
  static Answer taken(String id) {
    return new Answer(202, object().put("id", id), null, null);
  }

  /** Return 503: the client may send the request again later. */
  static Answer later(String reason) {
    return later(object().put("error", reason));
  }

  /** Return 503 with further fields. */
  static Answer later(ObjectNode said) {
    return new Answer(503, said, "Retry-After", String.valueOf(LATER_SECONDS));
  }

  /** Return 507: the body was dropped and counted. With 503, the client would retry and be counted again. */
  static Answer dropped() {
    return new Answer(507, object().put("error", "Memory and disk are full: the body is dropped and counted."), null, null);
  }

  static Answer refused(String reason) {
    return new Answer(400, object().put("error", reason), null, null);
  }

  static Answer onlyPost() {
    return new Answer(405, object().put("error", "Send bodies by POST; GET /health tells how it is."), "Allow", "POST");
  }

  static Answer tooLarge(long limit) {
    return new Answer(413, object().put("error", "The body is larger than " + limit + " bytes."), null, null);
  }

  static ObjectNode object() {
    return JSON.createObjectNode();
  }
}
