package io.headwater.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.hadoop.security.AccessControlException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BatchWriterTest {
  private static final int BATCH = 3;

  @TempDir Path folder;
  private final EventQueue queue = EventQueueTest.queue(BATCH, 20, 1_000);
  private World world;
  private Losses losses;
  private BatchWriter writer;

  @BeforeEach
  void begin() {
    world = new World(folder);
    losses = new Losses(world);
    writer = new BatchWriter(queue, losses, world.store(), world, world);
  }

  @Test
  void wholeBatchesAreWrittenWhenTheyAreFullAndTheRestWhenAllIsDue() {
    put(0, 7);
    assertEquals(0, writer.write(BATCH, false));
    assertEquals(List.of(3, 3), sizes());
    assertEquals(0, writer.write(BATCH, true));
    assertEquals(List.of(3, 3, 1), sizes());
    assertEquals(numbers(0, 7), world.lines());
    assertEquals(0, writer.write(BATCH, true));
    assertEquals(3, world.files().size());
  }

  @Test
  void nothingIsWrittenBeforeSparkIsUpUnlessItEnds() {
    world.started = false;
    put(0, 4);
    assertEquals(500, writer.write(BATCH, true));
    assertEquals(List.of(), world.all());
    queue.close();
    assertEquals(0, writer.write(BATCH, true));
    assertEquals(numbers(0, 4), world.lines());
  }

  @Test
  void aLostTokenHoldsEventsBackEverLongerAndNoneIsLostOrTwice() {
    put(0, 4);
    writer.write(BATCH, false);
    world.trouble.refusal = new AccessControlException("token expired");
    put(4, 3);
    List<Long> rests = IntStream.range(0, 3).mapToObj(each -> writer.write(BATCH, true)).collect(Collectors.toList());
    assertEquals(List.of(1_000L, 2_000L, 4_000L), rests);
    assertEquals(numbers(0, 3), world.lines());
    assertEquals(4, queue.size());

    world.trouble.refusal = null;
    put(7, 2);
    assertEquals(0, writer.write(BATCH, true));
    assertEquals(numbers(0, 9), world.lines());
  }

  @Test
  void aStoreThatFillsUpShowsNoHalfFileAndGetsAllWhenThereIsRoom() {
    put(0, 6);
    world.trouble.room = 4;
    assertEquals(1_000, writer.write(BATCH, true));
    assertEquals(List.of(), world.files());
    world.trouble.room = Long.MAX_VALUE;
    assertEquals(0, writer.write(BATCH, true));
    assertEquals(numbers(0, 6), world.lines());
    assertEquals(2, world.all().size());
  }

  @Test
  void answersThatAreLostMakeNoEventTwice() {
    world.trouble.losesAnswers = true;
    put(0, 6);
    assertEquals(1_000, writer.write(BATCH, true)); // the first file exists, but the response was lost
    assertEquals(2_000, writer.write(BATCH, true)); // it detects the first file; the same happens with the second
    assertEquals(0, writer.write(BATCH, true));
    assertEquals(numbers(0, 6), world.lines());
    assertEquals(2, world.trouble.landed.availablePermits());
  }

  @Test
  void theCountOfWhatWasDroppedIsTheLastLineOfTheNextFileOnce() {
    losses.countQueueFull();
    put(0, 4);
    writer.write(BATCH, true);
    List<String> lines = world.lines();
    assertEquals(5, lines.size());
    assertTrue(lines.get(3).startsWith("{\"headwater\":{\"transport\":\"onelake\""), lines.get(3));
    assertEquals(List.of(3, 1), sizes());
  }

  @Test
  void aCountThatNoEventFollowsIsAFileOfItsOwn() {
    losses.countUnserialisable("an event", new IllegalStateException("no"));
    assertEquals(0, writer.write(BATCH, false));
    assertEquals(List.of(), world.files());
    assertEquals(0, writer.write(BATCH, true));
    assertEquals(List.of(0), sizes());
    assertTrue(world.lines().get(0).contains("\"dropped\":1,\"queueFull\":0,\"unserialisable\":1"));
  }

  @Test
  void namesSortAsEventsCameAlsoWhereTheClockStandsStillOrGoesBack() {
    List<String> expected = new ArrayList<>();
    for (int each = 0; each < 6; each++) {
      put(each, 1);
      writer.write(BATCH, true);
      world.now = world.now.minusSeconds(each);
      expected.addAll(numbers(each, 1));
    }
    assertEquals(expected, world.lines());
  }

  @Test
  void withoutATokenItIsSaidOnceAndLoudlyAtTheStart() {
    world.trouble.refusal = new AccessControlException("no token for this store");
    List<String> said =
        World.logged(
            () -> {
              writer.write(BATCH, true);
              writer.write(BATCH, true);
              world.trouble.refusal = null;
              writer.write(BATCH, true);
            });
    List<String> loud = said.stream().filter(each -> each.contains("LINEAGE CANNOT BE STORED")).collect(Collectors.toList());
    assertEquals(1, loud.size(), said::toString);
    assertEquals(said.get(0), loud.get(0));
    assertTrue(loud.get(0).contains("ERROR") && loud.get(0).contains("no token for this store"), loud.get(0));
    assertTrue(said.get(said.size() - 1).contains("lineage goes to troubled://"), said::toString);
  }

  @Test
  void whileItClosesAFailingStoreIsALineAnIntervalAndNotOneAnAttempt() {
    put(0, 1);
    assertEquals(0, writer.write(BATCH, true));
    put(1, 1);
    queue.close();
    world.trouble.refusal = new AccessControlException("token expired");
    List<String> said =
        World.logged(
            () -> {
              for (int attempt = 0; attempt < 40; attempt++) { // the attempts of a closing thread within 10 s
                writer.write(BATCH, true);
                world.now = world.now.plusMillis(250);
              }
            });
    assertEquals(2, said.size(), said::toString); // at once and after the first interval; the second exceeds 10 s
    said.forEach(each -> assertTrue(each.contains("1 events wait") && each.contains("until the time to close"), each));
  }

  @Test
  void aFaultAfterASuccessIsSaidAtOnce() {
    List<String> said =
        World.logged(
            () -> {
              for (int turn = 0; turn < 2; turn++) {
                world.trouble.refusal = null;
                assertEquals(0, writer.write(BATCH, true));
                put(turn, 1);
                world.trouble.refusal = new AccessControlException("token expired");
                assertEquals(1_000, writer.write(BATCH, true));
              }
            });
    assertEquals(2, said.stream().filter(each -> each.contains("events wait")).count(), said::toString);
  }

  @Test
  void aStoreWhoseLibraryIsMissingIsTriedAgainToo() {
    world.config.location = "nowhere://bucket";
    writer = new BatchWriter(queue, losses, world.store(), world, world);
    put(0, 1);
    List<String> said = World.logged(() -> assertEquals(1_000, writer.write(BATCH, true)));
    assertTrue(said.get(0).contains("No FileSystem for scheme"), said::toString);
    assertEquals(1, queue.size());
  }

  private void put(int from, int count) {
    numbers(from, count).forEach(each -> queue.offer(each.getBytes()));
  }

  private static List<String> numbers(int from, int count) {
    return IntStream.range(from, from + count).mapToObj(each -> "{\"n\":" + each + "}").collect(Collectors.toList());
  }

  /** Return the number of events in each file name. */
  private List<Integer> sizes() {
    return world.files().stream()
        .map(each -> Integer.valueOf(each.getFileName().toString().replaceAll(".*-(\\d+)events\\.ndjson", "$1")))
        .collect(Collectors.toList());
  }
}
