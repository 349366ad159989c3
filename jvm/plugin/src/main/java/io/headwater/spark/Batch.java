package io.headwater.spark;

import java.io.IOException;
import java.util.List;

/** Bodies that are written in one commit. The batch keeps its ID when the write is repeated, even by another session. */
interface Batch {
  /** The approximate size limit of a batch, which is sent to one Spark task. */
  long BYTES = 16L << 20;

  String id();

  List<Body> bodies() throws IOException;

  /** Delete the batch after it was written to the table or stored elsewhere. */
  void discard() throws IOException;
}
