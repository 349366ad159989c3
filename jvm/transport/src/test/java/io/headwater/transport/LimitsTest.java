package io.headwater.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class LimitsTest {
  private final OneLakeTransportConfig config = new OneLakeTransportConfig();

  @Test
  void whatIsNotGivenHasADefault() {
    Limits limits = new Limits(config);
    assertEquals(50, limits.batchSize);
    assertEquals(5_000, limits.queueCapacity);
    assertEquals(67_108_864, limits.queueBytes);
    assertEquals(30_000, limits.flushMillis);
    assertEquals(10_000, limits.closeMillis);
  }

  @Test
  void aNumberBelowOneIsRefused() {
    config.flushIntervalSeconds = 0;
    assertRefused("OneLake transport: flushIntervalSeconds is 0. Give a number from 1, or none for 30.");
  }

  @Test
  void aQueueThatHoldsNoBatchIsRefused() {
    config.queueCapacity = 49;
    assertRefused(
        "OneLake transport: queueCapacity is 49, less than one batch (batchSize is 50). Raise queueCapacity, or lower batchSize.");
  }

  private void assertRefused(String reason) {
    assertEquals(reason, assertThrows(IllegalArgumentException.class, () -> new Limits(config)).getMessage());
  }
}
