package io.headwater.spark;

import java.util.Locale;
import org.apache.spark.SparkConf;

/**
 * Sets the address that the OpenLineage listener sends to.
 *
 * <p>Spark creates plugins before its listeners and gives both the same settings, so the listener sees what {@code init} sets.
 */
final class ListenerAddress {
  static final String TYPE = "spark.openlineage.transport.type";
  static final String URL = "spark.openlineage.transport.url";

  private ListenerAddress() {}

  /** Set the address unless the listener has another transport; returns whether it was set. */
  static boolean set(SparkConf conf, String url) {
    String type = conf.get(TYPE, "http").trim().toLowerCase(Locale.ROOT);
    if (!type.equals("http") || conf.contains(URL)) {
      return false;
    }
    conf.set(TYPE, "http");
    conf.set(URL, url);
    return true;
  }
}
