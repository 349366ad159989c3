package io.headwater.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.openlineage.client.OpenLineageClientUtils;
import io.openlineage.client.OpenLineageConfig;
import io.openlineage.client.transports.TransportConfig;
import io.openlineage.spark.shaded.com.fasterxml.jackson.core.type.TypeReference;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class OneLakeTransportConfigTest {
  /** Parses the settings as the listener does: as a tree of strings. */
  private static OneLakeTransportConfig read(String transport) {
    byte[] tree = ("{\"transport\": {\"type\": \"onelake\", " + transport + "}}").getBytes(StandardCharsets.UTF_8);
    TransportConfig read =
        OpenLineageClientUtils.loadOpenLineageConfigYaml(
                new ByteArrayInputStream(tree), new TypeReference<OpenLineageConfig<?>>() {})
            .getTransportConfig();
    return (OneLakeTransportConfig) read;
  }

  @Test
  void theListenersJsonLibraryFillsEverySettingFromTexts() {
    OneLakeTransportConfig config =
        read(
            "\"workspace\": \"Sales\", \"lakehouse\": \"Shop.Lakehouse\", \"location\": \"s3a://b\", \"folder\": \"f\","
                + "\"batchSize\": \"1\", \"flushIntervalSeconds\": \"2\", \"queueCapacity\": \"3\", \"queueBytes\": \"4\","
                + "\"closeTimeoutSeconds\": \"5\"");
    assertEquals("Sales Shop.Lakehouse s3a://b f", String.join(" ", config.workspace, config.lakehouse, config.location, config.folder));
    assertEquals(1, config.batchSize);
    assertEquals(2, config.flushIntervalSeconds);
    assertEquals(3, config.queueCapacity);
    assertEquals(4, config.queueBytes);
    assertEquals(5, config.closeTimeoutSeconds);
  }

  @Test
  void theSessionsSettingsGoBeforeAFilesAndWhatOnlyOneGivesStays() {
    OneLakeTransportConfig file = read("\"workspace\": \"Sales\", \"lakehouse\": \"Shop.Lakehouse\", \"batchSize\": \"7\", \"queueBytes\": \"9\"");
    OneLakeTransportConfig merged = file.mergeWith(read("\"lakehouse\": \"Other.Lakehouse\", \"batchSize\": \"8\", \"folder\": \"f\""));
    assertEquals("Sales Other.Lakehouse f", String.join(" ", merged.workspace, merged.lakehouse, merged.folder));
    assertEquals(8, merged.batchSize);
    assertEquals(9, merged.queueBytes);
    assertNull(merged.location);
    assertNull(merged.queueCapacity);
    assertNull(merged.flushIntervalSeconds);
    assertNull(merged.closeTimeoutSeconds);
  }
}
