package io.headwater.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.openlineage.client.transports.NoopTransport;
import io.openlineage.client.transports.Transport;
import io.openlineage.client.transports.TransportFactory;
import io.openlineage.client.transports.TransportResolver;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OneLakeTransportBuilderTest {
  @TempDir java.nio.file.Path folder;

  @Test
  void theClientFindsItByItsTypeAndByItsSettings() throws Exception {
    assertEquals(OneLakeTransportConfig.class, TransportResolver.resolveTransportConfigByType("onelake"));
    OneLakeTransportConfig config = new OneLakeTransportConfig();
    config.location = folder.toUri().toString();
    config.closeTimeoutSeconds = 1; // Spark does not run in this test
    try (Transport transport = new TransportFactory(config).build()) {
      assertInstanceOf(OneLakeTransport.class, transport);
    }
  }

  @Test
  void wrongSettingsAreRefusedWithTheReasonSaidOnce() {
    OneLakeTransportConfig config = new OneLakeTransportConfig();
    config.workspace = "Sales";
    config.lakehouse = "0b5d6a9e-1c2d-4e3f-8a9b-0c1d2e3f4a5b";
    List<String> said =
        World.logged(() -> assertInstanceOf(NoopTransport.class, new TransportFactory(config).build()));
    assertEquals(1, said.stream().filter(each -> each.contains("OneLake transport")).count(), said::toString);
    assertTrue(said.get(0).contains("one is a name and one a GUID"), said.get(0));
    assertTrue(said.get(0).contains("NO LINEAGE IS WRITTEN"), said.get(0));
  }
}
