package io.headwater.transport;

import io.openlineage.client.transports.NoopTransport;
import io.openlineage.client.transports.Transport;
import io.openlineage.client.transports.TransportBuilder;
import io.openlineage.client.transports.TransportConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the listener finds by {@code META-INF/services} for {@code spark.openlineage.transport.type=onelake}. */
public final class OneLakeTransportBuilder implements TransportBuilder {
  static final String TYPE = "onelake";
  private static final Logger LOG = LoggerFactory.getLogger(OneLakeTransport.class);

  @Override
  public String getType() {
    return TYPE;
  }

  @Override
  public TransportConfig getConfig() {
    return new OneLakeTransportConfig();
  }

  /**
   * Return the transport, or one that does nothing if the settings are wrong, whose reason is said once.
   *
   * <p>If it threw, the listener would try anew at each of Spark's events, and log thirty lines each time.
   */
  @Override
  public Transport build(TransportConfig config) {
    try {
      return new OneLakeTransport((OneLakeTransportConfig) config);
    } catch (IllegalArgumentException refused) {
      LOG.error("{} NO LINEAGE IS WRITTEN in this session.", refused.getMessage());
      return new NoopTransport();
    }
  }
}
