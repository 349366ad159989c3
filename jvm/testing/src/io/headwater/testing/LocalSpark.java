package io.headwater.testing;

import org.apache.spark.SparkConf;

/** Settings of a local Spark with one thread, with Delta, without the UI, that only uses the loopback interface. */
public final class LocalSpark {
  private LocalSpark() {}

  /** Return new settings; more: names and values. */
  public static SparkConf conf(String application, String... more) {
    SparkConf conf =
        new SparkConf(false)
            .setMaster("local[1]")
            .setAppName(application)
            .set("spark.ui.enabled", "false")
            .set("spark.driver.host", "127.0.0.1")
            .set("spark.driver.bindAddress", "127.0.0.1")
            .set("spark.sql.shuffle.partitions", "1")
            .set("spark.sql.codegen.wholeStage", "false") // code generation takes most of the time for a few rows
            .set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
            .set("spark.sql.adaptive.enabled", "false")
            .set("spark.databricks.delta.snapshotPartitions", "1")
            .set("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
            .set("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog");
    for (int each = 0; each < more.length; each += 2) {
      conf.set(more[each], more[each + 1]);
    }
    return conf;
  }
}
