package marquez;

import org.testcontainers.containers.PostgreSQLContainer;

/** A placeholder for a database; the tests do not connect to it. */
public final class PostgresContainer extends PostgreSQLContainer<PostgresContainer> {
  private PostgresContainer() {
    super("none");
  }

  static PostgresContainer create(String name) {
    return new PostgresContainer();
  }
}
