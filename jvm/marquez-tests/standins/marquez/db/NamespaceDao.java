package marquez.db;

import java.util.Optional;
import marquez.db.models.NamespaceRow;
import org.jdbi.v3.sqlobject.SqlObject;
import org.jdbi.v3.sqlobject.statement.SqlQuery;

/** A placeholder for a database. Two tests fail because only Marquez's tables contain their answers. */
public interface NamespaceDao extends SqlObject {
  @SqlQuery("SELECT 1")
  Optional<NamespaceRow> findNamespaceByName(String name);
}
