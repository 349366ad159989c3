package io.headwater.spark;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** What a client is told. */
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

  /** Tell what there is. */
  static Answer of(ObjectNode said) {
    return new Answer(200, said, null, null);
  }

  /** The driver has it. */
  static Answer taken(String id) {
    return new Answer(202, object().put("id", id), null, null);
  }

  /** Not now: the client may send it again. */
  static Answer later(String reason) {
    return later(object().put("error", reason));
  }

  /** The same, with more than the reason. */
  static Answer later(ObjectNode said) {
    return new Answer(503, said, "Retry-After", String.valueOf(LATER_SECONDS));
  }

  /** Dropped and counted: a client that tried again would be counted again, so it is no 503. */
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
