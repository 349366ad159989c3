package io.headwater.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class EventQueueTest {
  private static final long LONG = 3_600_000;

  private final EventQueue queue = queue(3, 5, 100);

  @Test
  void itTakesNoMoreThanItsNumberAndHasRoomAgainForWhatWasRemoved() {
    assertEquals(5, put(7, 1));
    queue.remove(2);
    assertEquals(2, put(7, 1));
    assertEquals(5, queue.size());
  }

  @Test
  void itTakesNoMoreThanItsBytesAndHasRoomAgainForWhatWasRemoved() {
    assertTrue(queue.offer(new byte[60]));
    assertFalse(queue.offer(new byte[41]));
    assertTrue(queue.offer(new byte[40]));
    queue.remove(1);
    assertTrue(queue.offer(new byte[60]));
    assertFalse(queue.offer(new byte[101]));
  }

  @Test
  void itsHeadIsTheOldestBatchAndStays() {
    for (byte each = 0; each < 4; each++) {
      queue.offer(new byte[] {each});
    }
    assertEquals(3, queue.head().size());
    assertArrayEquals(new byte[] {0}, queue.head().get(0));
    queue.remove(3);
    assertArrayEquals(new byte[] {3}, queue.head().get(0));
  }

  @Test
  void aFullBatchEndsTheWaitAndSomeLessThanABatchIsNotDue() throws Exception {
    CompletableFuture<Boolean> all = waiting();
    put(3, 1);
    assertFalse(all.get());
  }

  @Test
  void hurryCloseAndTimeMakeAllOfItDue() throws Exception {
    assertTrue(queue.awaitBatch(1));
    CompletableFuture<Boolean> hurried = waiting();
    queue.hurry();
    assertTrue(hurried.get());
    CompletableFuture<Boolean> closed = waiting();
    queue.close();
    assertTrue(closed.get());
  }

  @Test
  void aClosedOneTakesNothingAndEndsAStoresRest() throws Exception {
    CompletableFuture<Void> resting = CompletableFuture.runAsync(() -> quietly(() -> queue.awaitRetry(LONG)));
    queue.close();
    resting.get();
    assertTrue(queue.isClosed());
    assertFalse(queue.offer(new byte[1]));
    queue.awaitRetry(LONG);
  }

  private CompletableFuture<Boolean> waiting() {
    CompletableFuture<Boolean> answer = new CompletableFuture<>();
    CompletableFuture.runAsync(() -> quietly(() -> answer.complete(queue.awaitBatch(LONG))));
    return answer;
  }

  private int put(int count, int size) {
    int taken = 0;
    for (int each = 0; each < count; each++) {
      taken += queue.offer(new byte[size]) ? 1 : 0;
    }
    return taken;
  }

  static EventQueue queue(int batchSize, int capacity, int bytes) {
    OneLakeTransportConfig config = new OneLakeTransportConfig();
    config.batchSize = batchSize;
    config.queueCapacity = capacity;
    config.queueBytes = bytes;
    return new EventQueue(new Limits(config));
  }

  interface Interruptible {
    void run() throws InterruptedException;
  }

  private static void quietly(Interruptible work) {
    try {
      work.run();
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
    }
  }
}
