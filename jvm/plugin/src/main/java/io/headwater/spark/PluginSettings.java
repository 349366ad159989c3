package io.headwater.spark;

import java.nio.file.Path;
import java.nio.file.Paths;
import org.apache.spark.SparkConf;

/** The validated settings {@code spark.headwater.plugin.*}. */
final class PluginSettings {
  static final String PREFIX = "spark.headwater.plugin.";

  final String table;
  final int port;
  final long bufferBytes;
  final Path spillDir;
  final long spillBytes;

  /** Read the settings and their defaults; throws IllegalArgumentException with the reason. */
  PluginSettings(SparkConf conf) {
    table = conf.get(PREFIX + "table", "").trim();
    if (table.isEmpty()) {
      throw new IllegalArgumentException(
          PREFIX + "table is missing. Give the table that lineage goes to: a path (abfss://…/Tables/lineage) or a name.");
    }
    port = port(conf);
    bufferBytes = bytes(conf, "bufferBytes", "64m");
    spillBytes = bytes(conf, "spillBytes", "1g");
    spillDir = Paths.get(conf.get(PREFIX + "spillDir", defaultSpillDir()));
  }

  /** Return whether the table is a path rather than a catalog name. */
  boolean isPath() {
    return table.contains("/");
  }

  private static int port(SparkConf conf) {
    String given = conf.get(PREFIX + "port", "0").trim();
    if (!given.matches("\\d{1,5}") || Integer.parseInt(given) > 65_535) {
      throw new IllegalArgumentException(PREFIX + "port is " + given + ". Give a port, or none for any that is free.");
    }
    return Integer.parseInt(given);
  }

  private static long bytes(SparkConf conf, String name, String otherwise) {
    String given = conf.get(PREFIX + name, otherwise);
    try {
      long bytes = conf.getSizeAsBytes(PREFIX + name, otherwise);
      if (bytes > 0) {
        return bytes;
      }
    } catch (NumberFormatException refused) {
      // reported below
    }
    throw new IllegalArgumentException(
        PREFIX + name + " is " + given + ". Give a size such as 64m, or none for " + otherwise + ".");
  }

  private static String defaultSpillDir() {
    return Paths.get(System.getProperty("java.io.tmpdir"), "headwater-plugin-" + System.getProperty("user.name")).toString();
  }
}
