package io.headwater.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.apache.hadoop.security.AccessControlException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class WriterThreadTest {
  @TempDir Path folder;
  private World world;
  private EventQueue queue;
  private WriterThread thread;

  @BeforeEach
  void begin() {
    world = new World(folder);
    world.config.batchSize = 3;
    world.config.flushIntervalSeconds = 3_600;
    start();
  }

  private void start() {
    Limits limits = new Limits(world.config);
    queue = new EventQueue(limits);
    thread = new WriterThread(queue, new BatchWriter(queue, new Losses(world), world.store(), world, world), limits);
  }

  @Test
  void itHoldsNoProcessUp() {
    assertTrue(thread.isDaemon());
  }

  @Test
  void aFullBatchIsWrittenAtOnceAndTheRestAtTheEnd() throws Exception {
    thread.start();
    put(4);
    world.trouble.landed.acquire(1);
    put(1);
    thread.drain();
    thread.join();
    assertEquals(5, world.lines().size());
    assertEquals(0, queue.size());
  }

  @Test
  void hurryWritesWhatIsThere() throws Exception {
    thread.start();
    put(1);
    queue.hurry();
    world.trouble.landed.acquire(1);
    assertEquals(1, world.lines().size());
    thread.drain();
    thread.join();
  }

  @Test
  void theTimeWritesWhatIsThere() throws Exception {
    world.config.flushIntervalSeconds = 1;
    start();
    thread.start();
    put(1);
    world.trouble.landed.acquire(1);
    assertEquals(1, world.lines().size());
    thread.drain();
    thread.join();
  }

  @Test
  void anEndAmidAFailingStoresRestIsNotWaitedOut() throws Exception {
    world.trouble.refusal = new AccessControlException("no token");
    thread.start();
    put(2);
    Thread end = new Thread(() -> drain(thread));
    end.start();
    world.trouble.refusal = null;
    end.join();
    thread.join();
    assertEquals(2, world.lines().size());
  }

  @Test
  void aStoreThatHangsIsLeftWhenTheTimeIsOverAndTheThreadEndsWhenItAnswers() throws Exception {
    world.config.closeTimeoutSeconds = 1;
    start();
    world.trouble.gate.drainPermits();
    thread.start();
    put(7);
    world.trouble.begun.acquire(1);
    thread.drain();
    assertTrue(thread.isAlive());
    assertEquals(7, queue.size());
    assertFalse(queue.offer(new byte[1]));
    world.trouble.gate.release(100);
    thread.join();
    assertTrue(world.lines().size() >= 3);
  }

  private void put(int count) {
    for (int each = 0; each < count; each++) {
      queue.offer("{}".getBytes());
    }
  }

  private static void drain(WriterThread thread) {
    try {
      thread.drain();
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
    }
  }
}
