package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class BodyTest {
  private static final byte[] BYTES = {31, -117, 0, 10, 13, 34, -1};
  private final Body body =
      new Body(
          new Application(null, "näme\n\"x\""), "2", "POST", "/any/route", Map.of("x-batch", "a, b"),
          Instant.parse("2026-03-01T00:00:00.000001Z"), BYTES);

  @Test
  void aLineHoldsAllOfIt() throws Exception {
    byte[] line = body.line();
    Body read = Body.read(line);
    assertTrue(new String(line, StandardCharsets.UTF_8).indexOf('\n') < 0);
    assertEquals(body.id, read.id);
    assertNull(read.application.id());
    assertEquals("näme\n\"x\"", read.application.name());
    assertEquals("2", read.executor);
    assertEquals("POST", read.method);
    assertEquals("/any/route", read.path);
    assertEquals(Map.of("x-batch", "a, b"), read.headers);
    assertEquals(body.receivedAt, read.receivedAt);
    assertArrayEquals(BYTES, read.bytes);
  }

  @Test
  void aBodyAsLargeAsMayBeComesBack() throws Exception {
    byte[] large = new byte[Endpoint.MAX_BODY_BYTES];
    Arrays.fill(large, (byte) '"');
    Body body = new Body(Made.NIGHTLY, "1", "POST", "/", Map.of(), Instant.EPOCH, large);
    assertArrayEquals(large, Body.read(body.line()).bytes);
    Body empty = new Body(Made.NIGHTLY, "1", "POST", "/", Map.of(), Instant.EPOCH, new byte[0]);
    assertEquals(0, Body.read(empty.line()).bytes.length);
  }

  @Test
  void eachHasAnIdOfItsOwn() {
    assertNotEquals(Made.body("{}").id, Made.body("{}").id);
  }

  @Test
  void aTornLineIsNone() {
    byte[] line = body.line();
    for (int end : List.of(0, 1, 40, line.length - 1)) {
      assertThrows(IOException.class, () -> Body.read(Arrays.copyOf(line, end)), "torn after " + end);
    }
    assertThrows(IOException.class, () -> Body.read("{\"a\":1}".getBytes()));
  }

  @Test
  void aFileIsReadUpToItsTornLine() {
    byte[] whole = Lines.write(List.of(Made.body("one"), Made.body("two"), Made.body("three")));
    List<Body> read = Lines.read(Arrays.copyOf(whole, whole.length - 9), "a file");
    assertEquals(List.of("one", "two"), Made.texts(read));
    assertEquals(3, Lines.read(whole, "a file").size());
    assertEquals(List.of(), Lines.read(new byte[0], "a file"));
  }
}
