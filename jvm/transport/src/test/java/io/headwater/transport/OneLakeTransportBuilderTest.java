package io.headwater.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.openlineage.client.transports.Transport;
import io.openlineage.client.transports.TransportFactory;
import io.openlineage.client.transports.TransportResolver;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OneLakeTransportBuilderTest {
  @TempDir java.nio.file.Path folder;

  @Test
  void theClientFindsItByItsTypeAndByItsSettings() throws Exception {
    assertEquals(OneLakeTransportConfig.class, TransportResolver.resolveTransportConfigByType("onelake"));
    OneLakeTransportConfig config = new OneLakeTransportConfig();
    config.location = folder.toUri().toString();
    try (Transport transport = new TransportFactory(config).build()) {
      assertInstanceOf(OneLakeTransport.class, transport);
    }
  }

  @Test
  void wrongSettingsAreRefusedWhenItIsBuilt() {
    OneLakeTransportConfig config = new OneLakeTransportConfig();
    config.workspace = "Sales";
    config.lakehouse = "0b5d6a9e-1c2d-4e3f-8a9b-0c1d2e3f4a5b";
    Exception refused = assertThrows(IllegalArgumentException.class, () -> new TransportFactory(config).build());
    assertTrue(refused.getMessage().contains("one is a name and one a GUID"));
  }
}
