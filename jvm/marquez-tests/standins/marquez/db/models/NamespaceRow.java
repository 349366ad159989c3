package marquez.db.models;

import java.util.UUID;

/** A placeholder for a database row. */
public interface NamespaceRow {
  UUID getUuid();

  String getName();
}
