package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Map;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;

class OwnEventsTest {
  private static final String TABLE = "abfss://lake@account.dfs.core.windows.net/ops/Tables/lineage";

  @Test
  void anEventThatWritesTheTableIsOurs() {
    assertTrue(ours(outputs("/ops/Tables/lineage"), TABLE), "listener 1.27.0");
    assertTrue(ours(outputs("ops/Tables/lineage"), TABLE), "listener 1.53.0");
    assertTrue(ours(outputs("/tmp/lineage"), "/tmp/lineage/"));
  }

  @Test
  void anyOtherIsNot() {
    assertFalse(ours(outputs("/ops/Tables/lineage_of_sales"), TABLE));
    assertFalse(ours(outputs("/ops/Tables/lineage", "/ops/Tables/sales"), TABLE), "it writes more than that");
    assertFalse(ours("{\"inputs\":[{\"name\":\"/ops/Tables/lineage\"}],\"outputs\":[]}", TABLE), "it reads it");
    assertFalse(ours("[" + outputs("/ops/Tables/lineage") + "]", TABLE), "a batch of somebody's");
    assertFalse(ours("/ops/Tables/lineage", TABLE), "no JSON");
    assertFalse(ours(outputs("/ops/Tables/lineage"), null), "not known yet");
  }

  @Test
  void aCompressedOneIsOursToo() throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
      out.write(outputs("/ops/Tables/lineage").getBytes(StandardCharsets.UTF_8));
    }
    Map<String, String> headers = Map.of("content-encoding", "gzip");
    Body body = new Body(Made.NIGHTLY, "driver", "POST", "/", headers, Instant.EPOCH, bytes.toByteArray());
    assertTrue(OwnEvents.isOf(body, TABLE));
    Body torn = new Body(Made.NIGHTLY, "driver", "POST", "/", headers, Instant.EPOCH, new byte[] {31, -117, 8});
    assertFalse(OwnEvents.isOf(torn, TABLE));
  }

  private static boolean ours(String text, String location) {
    return OwnEvents.isOf(Made.body(text), location);
  }

  private static String outputs(String... names) {
    return "{\"outputs\":[{\"namespace\":\"x\",\"name\":\"" + String.join("\"},{\"name\":\"", names) + "\"}]}";
  }
}
