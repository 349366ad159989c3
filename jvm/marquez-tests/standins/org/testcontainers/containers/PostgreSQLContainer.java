package org.testcontainers.containers;

/** A database that nothing connects to. */
public class PostgreSQLContainer<S> {
  public PostgreSQLContainer(String image) {}

  public void start() {}

  public String getJdbcUrl() {
    return "jdbc:postgresql://127.0.0.1:1/none";
  }

  public String getUsername() {
    return "none";
  }

  public String getPassword() {
    return "none";
  }
}
