package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DropCountTest {
  private Instant now = Instant.parse("2026-03-01T23:59:59.500Z");
  private final DropCount drops = new DropCount(new Watch());

  @Test
  void whatWasDroppedIsToldOnceWithItsFirstAndLastMoment() {
    assertNull(drops.take(Made.NIGHTLY, "jobs"));
    drops.count();
    at("2026-03-02T00:00:01Z");
    drops.count();
    at("2026-03-02T00:00:05Z");
    Body told = drops.take(Made.NIGHTLY, "jobs");
    assertEquals(
        "{\"headwater\":{\"transport\":\"plugin\",\"application\":\"local-1\",\"applicationName\":\"nightly\",\"namespace\":\"jobs\","
            + "\"dropped\":2,\"queueFull\":2,\"unserialisable\":0,\"since\":\"2026-03-01T23:59:59.500Z\","
            + "\"until\":\"2026-03-02T00:00:01Z\"}}",
        text(told));
    assertEquals(Body.LOSSES, told.method);
    assertEquals(Map.of(), told.headers);
    assertEquals(Instant.parse("2026-03-02T00:00:01Z"), told.receivedAt);
    assertNull(drops.take(Made.NIGHTLY, "jobs"));
  }

  @Test
  void whatIsDroppedAfterItWasToldBeginsAnewAndTheTotalGoesOn() {
    drops.count();
    drops.take(Made.NIGHTLY, "jobs");
    at("2026-03-03T00:00:00Z");
    drops.count();
    String told = text(drops.take(Made.NIGHTLY, "jobs"));
    assertTrue(told.contains("\"dropped\":1,") && told.contains("\"since\":\"2026-03-03T00:00:00Z\""), told);
    assertEquals(2, drops.total());
  }

  /** Readers reject a line of losses whose namespace is not a string. */
  @Test
  void aNamespaceThatIsNotSetIsLeftOut() {
    drops.count();
    String told = text(drops.take(Made.NIGHTLY, null));
    assertTrue(told.contains("\"applicationName\":\"nightly\",\"dropped\":1"), told);
  }

  @Test
  void theLogSaysItOnceAMinuteWithAllSoFar() {
    assertEquals(1, said());
    at("2026-03-02T00:00:59.500Z");
    assertEquals(0, said());
    at("2026-03-02T00:00:59.501Z");
    List<String> lines = Made.logged(drops::count);
    assertTrue(lines.get(0).contains(" 3 lineage events dropped so far"), lines.toString());
  }

  private int said() {
    return Made.logged(drops::count).size();
  }

  private void at(String moment) {
    now = Instant.parse(moment);
  }

  private static String text(Body body) {
    return new String(body.bytes, StandardCharsets.UTF_8);
  }

  private final class Watch extends Clock {
    @Override
    public Instant instant() {
      return now;
    }

    @Override
    public ZoneId getZone() {
      return ZoneOffset.UTC;
    }

    @Override
    public Clock withZone(ZoneId zone) {
      return this;
    }
  }
}
