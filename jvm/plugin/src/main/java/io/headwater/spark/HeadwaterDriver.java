package io.headwater.spark;

import java.io.IOException;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The plugin on the driver: an endpoint, a buffer, and the way from it into the table.
 *
 * <p>Nothing here may fail a session: wrong settings are said, and then no lineage is taken.
 */
final class HeadwaterDriver implements DriverPlugin {
  /** Where the endpoint's address is found, by the name of a setting. */
  static final String URL = PluginSettings.PREFIX + "url";

  private static final Logger LOG = LoggerFactory.getLogger(HeadwaterPlugin.class);

  /** Stays for the process's next session: listeners up to 1.27 keep the address and the connection of its first. */
  private static Endpoint endpoint;

  private DriverDesk desk;
  private ExitHook exit;

  @Override
  public Map<String, String> init(SparkContext made, PluginContext plugin) {
    try {
      start(made, SparkEnv.get().conf());
    } catch (IllegalArgumentException | IOException refused) {
      LOG.error("Headwater plugin: {} NO LINEAGE IS TAKEN in this session.", refused.getMessage());
    } catch (RuntimeException | LinkageError broken) {
      LOG.error("Headwater plugin: NO LINEAGE IS TAKEN in this session:", broken);
    }
    return Map.of();
  }

  /** Take what an executor's endpoint got; answers whether there was room. */
  @Override
  public Object receive(Object message) throws IOException {
    return desk != null && desk.takeForwarded(Body.read((byte[]) message));
  }

  /**
   * Leave what waits where the next session finds it: Spark has stopped its scheduler before it calls this, so no table can be
   * written, but its listeners still work off their last events, which come here.
   */
  @Override
  public void shutdown() {
    if (exit == null) {
      return;
    }
    exit.remove();
    desk.awaitListeners();
    endpoint.serve(Desk.NOBODY);
    desk.close();
  }

  private void start(SparkContext made, SparkConf conf) throws IOException {
    PluginSettings settings = new PluginSettings(conf);
    String url = listen(settings.port).url();
    desk = new DriverDesk(settings, made, conf);
    endpoint.serve(desk);
    exit = new ExitHook(() -> desk.flush(ExitHook.LISTENER_MILLIS));
    conf.set(URL, url);
    boolean listened = ListenerAddress.set(conf, url);
    LOG.info(
        "Headwater plugin: lineage posted to {} goes into {} by POST /flush. {}",
        url, settings.table,
        listened ? "The listener posts there." : "The listener has a transport of its own: it is left alone.");
  }

  private static synchronized Endpoint listen(int port) throws IOException {
    if (endpoint != null && port != 0 && port != endpoint.port()) {
      endpoint.close();
      endpoint = null;
    }
    if (endpoint == null) {
      try {
        endpoint = new Endpoint(port, Endpoint.MAX_BODY_BYTES, Desk.NOBODY);
      } catch (IOException taken) {
        throw new IOException(
            "port " + port + " cannot be had: " + taken.getMessage() + ". Give another " + PluginSettings.PREFIX
                + "port, or none.");
      }
    }
    return endpoint;
  }
}
