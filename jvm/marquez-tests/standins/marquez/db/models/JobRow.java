package marquez.db.models;

import java.util.Optional;
import java.util.UUID;

/** A row of a database that is not there. */
public interface JobRow {
  UUID getUuid();

  String getName();

  String getType();

  String getLocation();

  Optional<String> getDescription();
}
