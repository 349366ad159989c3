package marquez.db;

import java.util.Optional;
import marquez.db.models.NamespaceRow;
import org.jdbi.v3.sqlobject.SqlObject;
import org.jdbi.v3.sqlobject.statement.SqlQuery;

/** Reads a database that is not there, so two tests that only Marquez's tables can answer fail. */
public interface NamespaceDao extends SqlObject {
  @SqlQuery("SELECT 1")
  Optional<NamespaceRow> findNamespaceByName(String name);
}
