package marquez.db.models;

import java.util.UUID;

/** A row of a database that is not there. */
public interface NamespaceRow {
  UUID getUuid();

  String getName();
}
