package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.headwater.testing.LocalSpark;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(300)
class DriverDeskTest {
  private static SparkContext context;
  @TempDir Path folder;

  @BeforeAll
  static void start() {
    context = new SparkContext(LocalSpark.conf("nightly"));
  }

  @AfterAll
  static void stop() {
    context.stop();
  }

  @Test
  void whatWaitsIsToldOfTheApplication() {
    DriverDesk desk = desk();
    assertEquals(202, take(desk, "one"));
    assertTrue(desk.takeForwarded(Made.body("two")));
    String said = desk.health().said.toString();
    assertTrue(said.contains("\"application\":\"" + context.applicationId() + "\",\"executor\":\"driver\""), said);
    assertTrue(said.contains("\"waiting\":2") && said.contains("\"dropped\":0"), said);
  }

  @Test
  void whatFindsNoRoomIsDroppedCountedAndLeftAsALineAtTheEnd() throws Exception {
    DriverDesk desk = desk("bufferBytes", "1k", "spillBytes", "1");
    assertEquals(202, take(desk, "one"));
    Answer refused = desk.take("POST", "/", Map.of(), Instant.EPOCH, new byte[2_000]);
    assertEquals(507, refused.status);
    assertNull(refused.header, "a client that came again would be counted again");
    assertTrue(desk.health().said.toString().contains("\"dropped\":1"));
    desk.close();
    List<String> left = left();
    assertEquals(2, left.size());
    assertTrue(left.get(1).startsWith("{\"headwater\":{\"transport\":\"plugin\"") && left.get(1).contains("\"dropped\":1"), left.get(1));
  }

  @Test
  void anExecutorForWhichThereIsNoRoomKeepsItAndNothingCountsAsLost() {
    DriverDesk desk = desk("bufferBytes", "1", "spillBytes", "1");
    assertFalse(desk.takeForwarded(Made.body("one")));
    assertTrue(desk.health().said.toString().contains("\"dropped\":0"));
  }

  @Test
  void aDiskThatCannotBeWrittenToDropsWhatMemoryHasNoRoomFor() throws Exception {
    Files.writeString(folder.resolve("spill"), "a file in the way");
    DriverDesk desk = desk("bufferBytes", "1k");
    List<String> said =
        Made.logged(
            () -> {
              assertEquals(202, take(desk, "one"));
              assertEquals(507, take(desk, "x".repeat(2_000)));
              assertEquals(507, take(desk, "x".repeat(2_000)));
            });
    assertEquals(1, said.stream().filter(each -> each.contains("nothing can be spilled to disk")).count(), said.toString());
    assertTrue(desk.health().said.toString().contains("\"waiting\":1"));
  }

  @Test
  void whatTheListenerTellsOfAFlushIsTakenAndNotKept() {
    DriverDesk desk = desk();
    String event = "{\"outputs\": [{\"namespace\": \"file\", \"name\": \"" + table() + "\"}]}";
    assertEquals(202, take(desk, event));
    assertTrue(desk.health().said.toString().contains("\"waiting\":0"));
    assertEquals(202, take(desk, event.replace("lineage", "orders")));
    assertTrue(desk.health().said.toString().contains("\"waiting\":1"));
  }

  @Test
  void aTableThatDoesNotTakeItIsSaidAndItWaitsOn() throws Exception {
    Files.writeString(Path.of(table()), "a file in the way");
    DriverDesk desk = desk();
    take(desk, "one");
    Answer[] answer = new Answer[1];
    List<String> said = Made.logged(() -> answer[0] = desk.flush(60_000));
    assertEquals(503, answer[0].status);
    assertEquals("Retry-After", answer[0].header);
    assertTrue(answer[0].said.toString().contains(table() + " cannot be written"), answer[0].said.toString());
    assertTrue(said.stream().anyMatch(each -> each.contains("LINEAGE IS NOT WRITTEN, it waits on")), said.toString());
    assertTrue(desk.health().said.toString().contains("\"waiting\":1"));

    Files.delete(Path.of(table()));
    Answer after = desk.flush(60_000);
    assertEquals("{\"bodies\":1,\"table\":\"" + table() + "\"}", after.said.toString());
    assertTrue(desk.health().said.toString().contains("\"waiting\":0,\"waiting_bytes\":0"));
  }

  @Test
  void aFlushBehindTheListenerIsNoSuccessAndTheNextOneHasAll() throws Exception {
    DriverDesk desk = desk();
    SlowListener listener = new SlowListener(desk);
    context.addSparkListener(listener);
    try {
      context.listenerBus().post(new Work("COMPLETE of a MERGE"));
      assertTrue(listener.begun.tryAcquire(60, TimeUnit.SECONDS));
      take(desk, "one");
      Answer early = desk.flush(50);
      assertEquals(503, early.status);
      assertEquals(1, early.said.get("bodies").asInt(), "what there was is written");
      assertTrue(early.said.get("listener_waiting").asLong() > 0, early.said.toString());
      assertTrue(early.said.get("error").asText().contains("have not processed everything"), early.said.toString());

      FutureTask<Answer> flush = new FutureTask<>(() -> desk.flush(120_000));
      new Thread(flush).start();
      listener.go.release();
      assertEquals(200, flush.get().status);
      assertEquals(1, flush.get().said.get("bodies").asInt(), "what the listener sent is in it");
    } finally {
      listener.go.release(100);
      context.removeSparkListener(listener);
    }
  }

  @Test
  void aFlushDoesNotWaitForWhatIsPostedAfterIt() throws Exception {
    DriverDesk desk = desk();
    assertEquals(200, desk.flush(60_000).status); // the listener is registered now
    SlowListener listener = new SlowListener(desk);
    context.addSparkListener(listener);
    try {
      context.listenerBus().post(new Work("before"));
      assertTrue(listener.begun.tryAcquire(60, TimeUnit.SECONDS));
      FutureTask<Answer> flush = new FutureTask<>(() -> desk.flush(120_000));
      Thread thread = new Thread(flush);
      thread.start();
      while (thread.getState() != Thread.State.TIMED_WAITING) { // it has posted its marker and waits
        Thread.onSpinWait();
      }
      context.listenerBus().post(new Work("after"));
      listener.go.release();
      assertEquals(200, flush.get().status);
      assertTrue(listener.begun.tryAcquire(60, TimeUnit.SECONDS), "the later event is still being worked on");
      assertEquals(1, flush.get().said.get("bodies").asInt());
    } finally {
      listener.go.release(100);
      context.removeSparkListener(listener);
    }
  }

  /** Sends a body for each event when the test permits it. */
  private static final class SlowListener extends SparkListener {
    private final Semaphore begun = new Semaphore(0);
    private final Semaphore go = new Semaphore(0);
    private final DriverDesk desk;

    SlowListener(DriverDesk desk) {
      this.desk = desk;
    }

    @Override
    public void onOtherEvent(SparkListenerEvent event) {
      if (event instanceof Work) {
        begun.release();
        go.acquireUninterruptibly();
        take(desk, ((Work) event).text);
      }
    }
  }

  private static final class Work implements SparkListenerEvent {
    private final String text;

    Work(String text) {
      this.text = text;
    }

    @Override
    public boolean logEvent() {
      return false;
    }
  }

  private DriverDesk desk(String... more) {
    String[] settings = new String[more.length + 2];
    settings[0] = "table";
    settings[1] = table();
    System.arraycopy(more, 0, settings, 2, more.length);
    return new DriverDesk(Made.settings(folder, settings), context, new SparkConf(false));
  }

  private String table() {
    return folder.resolve("lineage").toString();
  }

  private static int take(DriverDesk desk, String text) {
    return desk.take("POST", "/api/v1/lineage", Map.of(), Instant.EPOCH, text.getBytes(StandardCharsets.UTF_8)).status;
  }

  private List<String> left() throws IOException {
    return Made.texts(new LakeFolder(table(), new Configuration()).left().get(0).bodies());
  }
}
