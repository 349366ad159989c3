package io.headwater.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LossesTest {
  @TempDir Path folder;

  @Test
  void theyAreToldOnceWithReasonsAndTimes() {
    World world = new World(folder);
    Losses losses = new Losses(world);
    assertFalse(losses.any());
    assertNull(losses.take(world));

    losses.countQueueFull();
    world.now = world.now.plusSeconds(2);
    losses.countUnserialisable("an event", new IllegalStateException("no"));
    losses.countQueueFull();
    assertTrue(losses.any());
    assertEquals(
        "{\"headwater\":{\"transport\":\"onelake\",\"application\":\"local-1\",\"applicationName\":\"nightly\","
            + "\"dropped\":3,\"queueFull\":2,\"unserialisable\":1,"
            + "\"since\":\"2026-03-01T23:59:59.500Z\",\"until\":\"2026-03-02T00:00:01.500Z\"}}",
        new String(losses.take(world), StandardCharsets.UTF_8));

    assertNull(losses.take(world));
    losses.countQueueFull();
    String next = new String(losses.take(world), StandardCharsets.UTF_8);
    assertTrue(next.contains("\"dropped\":1,") && next.contains("\"since\":\"2026-03-02T00:00:01.500Z\""), next);
    assertEquals(4, losses.total());
  }

  @Test
  void theNamespaceOfTheJobsIsToldWhereOneIsSet() {
    World world = new World(folder);
    world.namespace = "fabric/Sales";
    Losses losses = new Losses(world);
    losses.countQueueFull();
    String told = new String(losses.take(world), StandardCharsets.UTF_8);
    assertTrue(told.contains("\"applicationName\":\"nightly\",\"namespace\":\"fabric/Sales\",\"dropped\":1,"), told);
  }

  @Test
  void theLogHearsOfThemOnceAMinute() {
    World world = new World(folder);
    Losses losses = new Losses(world);
    List<String> said =
        World.logged(
            () -> {
              for (int each = 0; each < 1_000; each++) {
                losses.countQueueFull();
              }
              world.now = world.now.plus(Duration.ofSeconds(61));
              losses.countQueueFull();
              losses.countQueueFull();
            });
    assertEquals(2, said.size(), said::toString);
    assertTrue(said.get(0).contains(" 1 lineage events dropped so far"), said.get(0));
    assertTrue(said.get(1).contains(" 1001 lineage events dropped so far"), said.get(1));
  }
}
