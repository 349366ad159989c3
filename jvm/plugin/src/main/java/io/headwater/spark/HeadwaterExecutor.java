package io.headwater.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkFiles;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The plugin on an executor: an endpoint that sends bodies to the driver with Spark's messages.
 *
 * <p>Java code finds the address in the property {@value #PROPERTY}. Python workers find it in the file {@value #FILE} in the
 * Spark files of their executor ({@code SparkFiles.get}).
 */
final class HeadwaterExecutor implements ExecutorPlugin {
  static final String PROPERTY = "headwater.plugin.url";
  static final String FILE = "headwater-plugin.url";

  private static final Logger LOG = LoggerFactory.getLogger(HeadwaterPlugin.class);

  private Endpoint endpoint;

  @Override
  public void init(PluginContext plugin, Map<String, String> extra) {
    try {
      String url = plugin.conf().get(HeadwaterDriver.URL, null);
      if (!plugin.executorID().equals("driver")) {
        endpoint = new Endpoint(0, ExecutorDesk.maxBodyBytes(plugin.conf()), desk(plugin));
        url = endpoint.url();
      }
      if (url != null) {
        tell(url);
      }
    } catch (IOException | RuntimeException | LinkageError refused) {
      shutdown();
      LOG.error("Headwater plugin: NO LINEAGE IS TAKEN on this executor: {}.", refused.toString());
    }
  }

  @Override
  public void shutdown() {
    if (endpoint != null) {
      endpoint.close();
    }
  }

  private static Desk desk(PluginContext plugin) {
    SparkConf conf = plugin.conf();
    Application application = new Application(conf.get("spark.app.id", null), conf.get("spark.app.name", null));
    return new ExecutorDesk(application, plugin.executorID(), line -> Boolean.TRUE.equals(plugin.ask(line)));
  }

  private static void tell(String url) throws IOException {
    Path folder = Paths.get(SparkFiles.getRootDirectory());
    Path hidden = Files.createTempFile(folder, "." + FILE, ".tmp");
    Files.writeString(hidden, url);
    Files.move(hidden, folder.resolve(FILE), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    System.setProperty(PROPERTY, url);
  }
}
