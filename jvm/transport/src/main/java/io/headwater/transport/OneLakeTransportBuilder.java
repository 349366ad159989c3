package io.headwater.transport;

import io.openlineage.client.transports.Transport;
import io.openlineage.client.transports.TransportBuilder;
import io.openlineage.client.transports.TransportConfig;

/** What the listener finds by {@code META-INF/services} for {@code spark.openlineage.transport.type=onelake}. */
public final class OneLakeTransportBuilder implements TransportBuilder {
  static final String TYPE = "onelake";

  @Override
  public String getType() {
    return TYPE;
  }

  @Override
  public TransportConfig getConfig() {
    return new OneLakeTransportConfig();
  }

  @Override
  public Transport build(TransportConfig config) {
    return new OneLakeTransport((OneLakeTransportConfig) config);
  }
}
