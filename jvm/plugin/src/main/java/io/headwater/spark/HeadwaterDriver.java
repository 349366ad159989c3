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
 * The plugin on the driver: the endpoint, the buffer and the writer of the table.
 *
 * <p>It must never fail a session: invalid settings are logged, and the session runs without the plugin.
 */
final class HeadwaterDriver implements DriverPlugin {
  /** The setting that contains the endpoint's address. */
  static final String URL = PluginSettings.PREFIX + "url";

  private static final Logger LOG = LoggerFactory.getLogger(HeadwaterPlugin.class);

  /** Kept for the next session of the process, because listeners up to 1.27 keep the address and connection of the first one. */
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

  /** Accept a body from an executor; returns whether there was room. */
  @Override
  public Object receive(Object message) throws IOException {
    return desk != null && desk.takeForwarded(Body.read((byte[]) message));
  }

  /**
   * Store the waiting bodies for the next session. Spark calls this after stopping its scheduler, so a table can no longer be
   * written. Its listeners still process their last events, which this method waits for.
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
