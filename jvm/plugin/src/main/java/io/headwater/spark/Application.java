package io.headwater.spark;

/** The Spark application that received a body. */
final class Application {
  private final String id;
  private final String name;

  Application(String id, String name) {
    this.id = id;
    this.name = name;
  }

  /** Return Spark's application ID, or null if Spark has not assigned one yet. */
  String id() {
    return id;
  }

  String name() {
    return name;
  }
}
