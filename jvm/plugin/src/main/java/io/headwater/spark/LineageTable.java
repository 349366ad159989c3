package io.headwater.spark;

import java.io.IOException;

/** Where bodies land. */
interface LineageTable {
  /** Append a batch in one commit, unless its id has landed already; throws what hinders it: the same call may succeed later. */
  void append(Batch batch) throws IOException;

  /** Return what the settings call it. */
  String name();

  /** Return where the table lies; null as long as that is not known. */
  String location();
}
