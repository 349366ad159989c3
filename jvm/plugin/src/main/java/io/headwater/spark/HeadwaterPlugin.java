package io.headwater.spark;

import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;

/** What {@code spark.plugins} names: lineage that the driver and its executors post goes into a table of the session's. */
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
