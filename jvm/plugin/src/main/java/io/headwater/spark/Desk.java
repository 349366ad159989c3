package io.headwater.spark;

import java.time.Instant;
import java.util.Map;

/** What stands behind an endpoint: the buffer on the driver, the way to the driver on an executor. */
interface Desk {
  /** Between the sessions of one process. */
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

  /** Take a request. */
  Answer take(String method, String path, Map<String, String> headers, Instant receivedAt, byte[] bytes);

  /** Write to the table what was posted so far, and what Spark's listeners still have to send of it, at most after this time. */
  Answer flush(long listenerMillis);

  /** Tell how it is. */
  Answer health();
}
