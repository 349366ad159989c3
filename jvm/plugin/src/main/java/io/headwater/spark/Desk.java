package io.headwater.spark;

import java.time.Instant;
import java.util.Map;

/** Handles the requests of an endpoint: with the buffer on the driver, or by forwarding them to the driver on an executor. */
interface Desk {
  /** Handles requests when no Spark session is open. */
  Desk NOBODY =
      new Desk() {
        @Override
        public Answer take(String method, String path, Map<String, String> headers, Instant receivedAt, byte[] bytes) {
          return Answer.later("No Spark session is open.");
        }

        @Override
        public Answer flush(long listenerMillis) {
          return Answer.later("No Spark session is open.");
        }

        @Override
        public Answer health() {
          return Answer.later("No Spark session is open.");
        }
      };

  /** Accept a body. */
  Answer take(String method, String path, Map<String, String> headers, Instant receivedAt, byte[] bytes);

  /** Write all posted bodies to the table, after waiting at most this long for events that Spark's listeners still process. */
  Answer flush(long listenerMillis);

  /** Return the state for a health check. */
  Answer health();
}
