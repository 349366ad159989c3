package io.headwater.transport;

import io.openlineage.client.transports.NoopTransport;
import io.openlineage.client.transports.Transport;
import io.openlineage.client.transports.TransportBuilder;
import io.openlineage.client.transports.TransportConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The class that the listener finds through {@code META-INF/services} for {@code spark.openlineage.transport.type=onelake}. */
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
   * Return the transport. If the settings are invalid, log the reason once and return a transport that does nothing.
   *
   * <p>After an exception, the listener would repeat the call and log thirty lines for each Spark event.
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
