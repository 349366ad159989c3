package io.headwater.spark;

import java.io.IOException;

/** The table that stores bodies. */
interface LineageTable {
  /** Append a batch in one commit, unless its ID was already written; throws IOException, after which a retry may succeed. */
  void append(Batch batch) throws IOException;

  /** Return the table's name in the settings. */
  String name();

  /** Return the location of the table, or null if it is not known yet. */
  String location();
}
