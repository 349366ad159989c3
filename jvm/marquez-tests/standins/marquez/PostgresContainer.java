package marquez;

import org.testcontainers.containers.PostgreSQLContainer;

/** A database that nothing connects to. */
public final class PostgresContainer extends PostgreSQLContainer<PostgresContainer> {
  private PostgresContainer() {
    super("none");
  }

  static PostgresContainer create(String name) {
    return new PostgresContainer();
  }
}
