package marquez.db;

import java.time.Instant;
import java.util.Optional;
import java.util.UUID;
import marquez.common.models.JobType;
import marquez.db.models.JobRow;
import org.jdbi.v3.sqlobject.SqlObject;
import org.jdbi.v3.sqlobject.statement.SqlQuery;
import org.postgresql.util.PGobject;

/** A placeholder for writes to a database. */
public interface JobDao extends SqlObject {
  @SqlQuery("SELECT 1")
  Optional<JobRow> findJobByNameAsRow(String namespace, String name);

  @SqlQuery("SELECT 1")
  JobRow upsertJob(
      UUID id, JobType type, Instant now, UUID namespaceId, String namespace, String name, String description,
      String location, UUID target, PGobject inputs);

  @SqlQuery("SELECT 1")
  JobRow upsertJob(
      UUID id, UUID parent, JobType type, Instant now, UUID namespaceId, String namespace, String name,
      String description, String location, UUID target, PGobject inputs, UUID run);
}
