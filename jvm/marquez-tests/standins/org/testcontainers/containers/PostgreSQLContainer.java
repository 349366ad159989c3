package org.testcontainers.containers;

/** A placeholder for a database; the tests do not connect to it. */
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
