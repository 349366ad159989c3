package io.headwater.transport;

/** The delay after a failed write: 1 s, doubled after each failure up to a minute; 0 after a success. */
final class Backoff {
  private static final long FIRST_MILLIS = 1_000;
  private static final long LONGEST_MILLIS = 60_000;

  private long millis;

  void succeeded() {
    millis = 0;
  }

  void failed() {
    millis = millis == 0 ? FIRST_MILLIS : Math.min(2 * millis, LONGEST_MILLIS);
  }

  long millis() {
    return millis;
  }
}
