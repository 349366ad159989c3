package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class LinesTest {
  @Test
  void aDamagedLineIsSaidWithItsFileAndCostsNoOther() {
    ByteArrayOutputStream whole = new ByteArrayOutputStream();
    whole.writeBytes(Lines.write(List.of(Made.body("one"))));
    for (String damaged : List.of("\0\0\0\0", "{\"id\":\"7\",\"body\":\"!!!\"}", "")) {
      whole.writeBytes((damaged + "\n").getBytes());
    }
    whole.writeBytes(Lines.write(List.of(Made.body("two"))));
    List<Body> read = new ArrayList<>();
    List<String> said = Made.logged(() -> read.addAll(Lines.read(whole.toByteArray(), "spill/7.ndjson")));
    assertEquals(List.of("one", "two"), Made.texts(read));
    assertEquals(3, said.size(), said.toString());
    assertTrue(said.get(0).contains("A LINEAGE EVENT IS LOST: a line of 4 bytes in spill/7.ndjson"), said.get(0));
  }

  @Test
  void anEndThatWasTornIsSaidAndNoLoss() {
    byte[] whole = Lines.write(List.of(Made.body("one"), Made.body("two")));
    byte[] torn = Arrays.copyOf(whole, whole.length - 1);
    List<String> said = Made.logged(() -> assertEquals(List.of("one"), Made.texts(Lines.read(torn, "spill/7.ndjson"))));
    assertEquals(1, said.size());
    assertTrue(said.get(0).contains("WARN") && said.get(0).contains("half a line"), said.get(0));
  }
}
