package io.headwater.spark;

/** The Spark application that a body was taken in. */
final class Application {
  private final String id;
  private final String name;

  Application(String id, String name) {
    this.id = id;
    this.name = name;
  }

  /** Return Spark's id of it; null as long as Spark has given none. */
  String id() {
    return id;
  }

  String name() {
    return name;
  }
}
