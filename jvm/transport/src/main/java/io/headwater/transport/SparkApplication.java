package io.headwater.transport;

import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.deploy.SparkHadoopUtil;
import org.apache.spark.SparkEnv;
import scala.Option;

/**
 * The Spark application of this process. After its context stops, this class returns the last known values.
 *
 * <p>A lookup blocks while a context is being created, so only the writer's thread does it, before each write.
 */
final class SparkApplication implements Application {
  private Configuration configuration;
  private String id = "unknown";
  private String name = "unknown";
  private String namespace;
  private volatile SparkContext seen;

  @Override
  public synchronized Configuration configuration() {
    look();
    if (configuration != null) {
      return configuration;
    }
    SparkEnv environment = SparkEnv.get();
    return environment == null ? new Configuration() : SparkHadoopUtil.get().newConfiguration(environment.conf());
  }

  @Override
  public synchronized boolean isStarted() {
    look();
    return seen != null;
  }

  @Override
  public boolean isEnding() {
    SparkContext context = seen;
    return context != null && context.isStopped();
  }

  @Override
  public synchronized String id() {
    look();
    return id;
  }

  @Override
  public synchronized String name() {
    look();
    return name;
  }

  @Override
  public synchronized String namespace() {
    look();
    return namespace;
  }

  private void look() {
    Option<SparkContext> active = SparkContext$.MODULE$.getActive();
    if (active.isDefined() && !active.get().isStopped()) {
      SparkContext context = active.get();
      configuration = context.hadoopConfiguration();
      id = context.applicationId();
      name = context.appName();
      namespace = context.conf().get("spark.openlineage.namespace", null);
      seen = context;
    }
  }
}
