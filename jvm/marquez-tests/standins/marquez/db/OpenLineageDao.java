package marquez.db;

import org.jdbi.v3.sqlobject.SqlObject;

/** A placeholder for the access object that tests pass on. */
public interface OpenLineageDao extends SqlObject {}
