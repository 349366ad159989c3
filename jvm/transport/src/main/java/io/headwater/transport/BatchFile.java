package io.headwater.transport;

import java.io.IOException;
import java.io.OutputStream;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import java.util.UUID;

/** A file of newline-delimited JSON. Its path and content stay the same when the write is repeated. */
final class BatchFile {
  private final Instant made;
  private final UUID id = UUID.randomUUID();
  private final List<byte[]> events;
  private final byte[] losses;

  /** losses: the line that reports dropped events, or null. */
  BatchFile(Instant made, List<byte[]> events, byte[] losses) {
    this.made = made;
    this.events = events;
    this.losses = losses;
  }

  /** Return the folder of the file's day (UTC). */
  String folder() {
    return "dt=" + made.atOffset(ZoneOffset.UTC).toLocalDate();
  }

  /** Return {@code <epoch ms>-<uuid>-<n>events.ndjson}; n does not include the line of losses. */
  String name() {
    return made.toEpochMilli() + "-" + id + "-" + events.size() + "events.ndjson";
  }

  int events() {
    return events.size();
  }

  void writeTo(OutputStream out) throws IOException {
    for (byte[] event : events) {
      out.write(event);
      out.write('\n');
    }
    if (losses != null) {
      out.write(losses);
      out.write('\n');
    }
  }
}
