package io.headwater.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.openlineage.client.OpenLineageClientUtils;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class OneLakeTransportTest {
  @TempDir Path folder;
  private World world;

  @BeforeEach
  void begin() {
    world = new World(folder);
    world.config.flushIntervalSeconds = 3_600;
  }

  @Test
  void whatIsEmittedLandsInOrderAsTheClientWritesIt() {
    OneLakeTransport transport = world.transport();
    IntStream.range(0, 120).forEach(each -> transport.emit(World.event(each)));
    transport.close();
    List<String> expected =
        IntStream.range(0, 120).mapToObj(each -> OpenLineageClientUtils.toJson(World.event(each))).collect(Collectors.toList());
    assertEquals(expected, world.lines());
  }

  @Test
  void eventsOfJobsAndDatasetsLandToo() {
    OneLakeTransport transport = world.transport();
    transport.emit(World.EVENTS.newJobEventBuilder().job(World.EVENTS.newJobBuilder().namespace("n").name("j").build()).build());
    transport.emit(World.EVENTS.newDatasetEventBuilder().dataset(World.EVENTS.newStaticDatasetBuilder().namespace("n").name("d").build()).build());
    transport.close();
    assertEquals(2, world.lines().size());
    assertTrue(world.lines().get(0).contains("\"job\"") && world.lines().get(1).contains("\"dataset\""));
  }

  @Test
  void threadsThatEmitAtOnceLoseNothing() throws Exception {
    OneLakeTransport transport = world.transport();
    Thread[] threads = new Thread[8];
    for (int thread = 0; thread < threads.length; thread++) {
      int from = thread * 500;
      threads[thread] = new Thread(() -> IntStream.range(from, from + 500).forEach(each -> transport.emit(World.event(each))));
      threads[thread].start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    transport.close();
    Set<String> landed = new HashSet<>(world.lines());
    assertEquals(4_000, world.lines().size());
    assertEquals(4_000, landed.size());
  }

  /** Emits on this thread while the store hangs; the test passes only if it does not block. */
  @Test
  void aStoreThatStandsStillHoldsNobodyUpAndTheCountOfTheDroppedArrives() throws Exception {
    world.config.batchSize = 10;
    world.config.queueCapacity = 100;
    world.trouble.gate.drainPermits();
    OneLakeTransport transport = world.transport();
    IntStream.range(0, 10).forEach(each -> transport.emit(World.event(each)));
    world.trouble.begun.acquire(1); // the write has started and hangs
    IntStream.range(10, 1_000).forEach(each -> transport.emit(World.event(each)));
    assertEquals(List.of(), world.files());

    world.trouble.gate.release(1_000);
    world.trouble.landed.acquire(10);
    IntStream.range(1_000, 1_005).forEach(each -> transport.emit(World.event(each))); // the store has recovered
    transport.close();
    List<String> told = world.lines().stream().filter(each -> each.startsWith("{\"headwater\"")).collect(Collectors.toList());
    assertEquals(105, world.lines().size() - told.size());
    assertEquals(1, told.size(), told::toString);
    assertTrue(told.get(0).contains("\"dropped\":900,\"queueFull\":900,\"unserialisable\":0"), told.get(0));
  }

  @Test
  void whatCannotBeWrittenAsJsonIsLoggedCountedAndDropped() {
    OneLakeTransport transport = world.transport();
    List<String> said = World.logged(() -> transport.emit(World.unserialisable(new IllegalStateException("a plan that is gone"))));
    transport.emit(World.event(1));
    transport.close();
    said.removeIf(each -> !each.startsWith("[main]")); // ignore lines of the writer's thread
    assertTrue(said.get(said.size() - 1).contains("a plan that is gone"), said::toString);
    assertEquals(OpenLineageClientUtils.toJson(World.event(1)), world.lines().get(0));
    assertTrue(world.lines().get(1).contains("\"dropped\":1,\"queueFull\":0,\"unserialisable\":1"), world.lines().get(1));
  }

  @Test
  void anEventLargerThanTheQueueIsDroppedAndCounted() {
    world.config.queueBytes = 1_000;
    OneLakeTransport transport = world.transport();
    transport.emit(World.EVENTS.newRunEventBuilder().job(World.EVENTS.newJobBuilder().namespace("n").name("x".repeat(2_000)).build()).build());
    transport.close();
    assertTrue(world.lines().get(0).contains("\"dropped\":1"), world.lines()::toString);
  }

  @Test
  void theLastEventsOfAnApplicationAreWrittenAtOnce() throws Exception {
    OneLakeTransport transport = world.transport();
    world.ending = true;
    transport.emit(World.event(1));
    world.trouble.landed.acquire(1);
    assertEquals(1, world.lines().size());
    transport.close();
  }

  @Test
  void afterItsEndItTakesNothingAndThrowsNothing() {
    OneLakeTransport transport = world.transport();
    transport.close();
    transport.emit(World.event(1));
    transport.close();
    assertEquals(List.of(), world.all());
  }

  @Test
  void whatAFailingStoreDidNotTakeInTimeIsSaid() {
    world.config.closeTimeoutSeconds = 1;
    world.trouble.refusal = new IOException("down");
    OneLakeTransport transport = world.transport();
    transport.emit(World.event(1));
    List<String> said = World.logged(transport::close);
    assertTrue(said.stream().anyMatch(each -> each.contains("1 LINEAGE EVENTS ARE LOST")), said::toString);
    assertFalse(world.all().stream().anyMatch(each -> true));
  }
}
