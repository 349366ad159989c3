package io.headwater.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class BackoffTest {
  private final Backoff backoff = new Backoff();

  @Test
  void eachFailureDoublesTheRestUpToAMinuteAndASuccessEndsIt() {
    assertEquals(0, backoff.millis());
    List<Long> rests = IntStream.range(0, 8).mapToObj(each -> failed()).collect(Collectors.toList());
    assertEquals(List.of(1_000L, 2_000L, 4_000L, 8_000L, 16_000L, 32_000L, 60_000L, 60_000L), rests);
    backoff.succeeded();
    assertEquals(0, backoff.millis());
    assertEquals(1_000, failed());
  }

  private long failed() {
    backoff.failed();
    return backoff.millis();
  }
}
