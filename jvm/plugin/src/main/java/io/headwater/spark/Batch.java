package io.headwater.spark;

import java.io.IOException;
import java.util.List;

/**
 * Bodies that land together, in one commit of the table, under an id that stays with them however often that is tried and
 * whoever tries it.
 */
interface Batch {
  /** How much a batch may hold, about: what one task of Spark is sent. */
  long BYTES = 16L << 20;

  String id();

  List<Body> bodies() throws IOException;

  /** Let go of it: it has landed, or lies elsewhere. */
  void discard() throws IOException;
}
