package io.headwater.spark;

import java.util.Locale;
import org.apache.spark.SparkConf;

/**
 * Where the OpenLineage listener sends to.
 *
 * <p>Spark makes plugins before its listeners, and gives both the same settings: what a plugin's {@code init} sets, the listener
 * finds.
 */
final class ListenerAddress {
  static final String TYPE = "spark.openlineage.transport.type";
  static final String URL = "spark.openlineage.transport.url";

  private ListenerAddress() {}

  /** Send the listener to this address unless it has a transport of its own; tells whether it comes here. */
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
