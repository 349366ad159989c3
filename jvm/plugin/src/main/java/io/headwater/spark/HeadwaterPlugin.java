package io.headwater.spark;

import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;

/** The class for {@code spark.plugins}. It writes the lineage that the driver and executors post to a table. */
public final class HeadwaterPlugin implements SparkPlugin {
  @Override
  public DriverPlugin driverPlugin() {
    return new HeadwaterDriver();
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new HeadwaterExecutor();
  }
}
