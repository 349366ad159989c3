package io.headwater.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

class BatchFileTest {
  private static final Instant BEFORE_MIDNIGHT = Instant.parse("2026-03-01T23:59:59.999Z");
  private static final List<byte[]> TWO = List.of(bytes("{\"a\":1}"), bytes("{\"b\":2}"));

  @Test
  void itsNameSaysWhenAndHowManyAndItsFolderIsTheDayInUtc() {
    BatchFile file = new BatchFile(BEFORE_MIDNIGHT, TWO, bytes("{}"));
    String expected = "1772409599999-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-2events\\.ndjson";
    assertTrue(file.name().matches(expected), file.name());
    assertEquals("dt=2026-03-01", file.folder());
    assertEquals("dt=2026-03-02", new BatchFile(BEFORE_MIDNIGHT.plusMillis(1), TWO, null).folder());
    assertNotEquals(file.name(), new BatchFile(BEFORE_MIDNIGHT, TWO, null).name());
  }

  @Test
  void anEventIsALineAndLossesAreTheLast() throws Exception {
    assertEquals("{\"a\":1}\n{\"b\":2}\n", written(new BatchFile(BEFORE_MIDNIGHT, TWO, null)));
    assertEquals("{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n", written(new BatchFile(BEFORE_MIDNIGHT, TWO, bytes("{\"c\":3}"))));
  }

  private static String written(BatchFile file) throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    file.writeTo(out);
    return out.toString(StandardCharsets.UTF_8);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
