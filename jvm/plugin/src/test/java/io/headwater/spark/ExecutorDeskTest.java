package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.time.Instant;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;

class ExecutorDeskTest {
  private final ExecutorDesk desk = new ExecutorDesk(Made.NIGHTLY, "3", this::driver);
  private byte[] asked;
  private boolean room;
  private IOException failure;

  @Test
  void theDriverGetsAllOfIt() throws Exception {
    room = true;
    assertEquals(202, take());
    Body got = Body.read(asked);
    assertEquals("local-1", got.application.id());
    assertEquals("3", got.executor);
    assertEquals("/any", got.path);
    assertEquals(Map.of("x-batch", "7"), got.headers);
  }

  @Test
  void theClientIsToldToComeAgainWhenTheDriverHasNoRoomOrDoesNotAnswer() {
    assertEquals(503, take());
    failure = new IOException("the driver is gone");
    assertEquals(503, take());
    assertEquals("{\"executor\":\"3\",\"forwarded\":0,\"refused\":2}", desk.health().said.toString());
    assertEquals(503, desk.flush(0).status);
  }

  @Test
  void aBodyIsNoLargerThanSparkTakesAsAMessage() {
    assertEquals(Endpoint.MAX_BODY_BYTES, ExecutorDesk.maxBodyBytes(new SparkConf(false)));
    assertEquals(4 << 20, ExecutorDesk.maxBodyBytes(new SparkConf(false).set("spark.rpc.message.maxSize", "8")));
  }

  private int take() {
    return desk.take("POST", "/any", Map.of("x-batch", "7"), Instant.EPOCH, new byte[] {1}).status;
  }

  private boolean driver(byte[] line) throws IOException {
    asked = line;
    if (failure != null) {
      throw failure;
    }
    return room;
  }
}
