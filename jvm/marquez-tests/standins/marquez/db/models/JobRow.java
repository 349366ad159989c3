package marquez.db.models;

import java.util.Optional;
import java.util.UUID;

/** A placeholder for a database row. */
public interface JobRow {
  UUID getUuid();

  String getName();

  String getType();

  String getLocation();

  Optional<String> getDescription();
}
