package io.headwater.testing;

import org.apache.spark.SparkConf;

/** The settings of a real Spark on one thread of this machine, without pages, on loopback alone, with Delta. */
public final class LocalSpark {
  private LocalSpark() {}

  /** Return settings anew; more: names and their values. */
  public static SparkConf conf(String application, String... more) {
    SparkConf conf =
        new SparkConf(false)
            .setMaster("local[1]")
            .setAppName(application)
            .set("spark.ui.enabled", "false")
            .set("spark.driver.host", "127.0.0.1")
            .set("spark.driver.bindAddress", "127.0.0.1")
            .set("spark.sql.shuffle.partitions", "1")
            .set("spark.sql.codegen.wholeStage", "false") // to generate and compile Java for a few rows costs most of their time
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
