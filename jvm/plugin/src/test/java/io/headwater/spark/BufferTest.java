package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BufferTest {
  @TempDir Path folder;
  private SpillFolder disk;
  private Buffer buffer;

  @BeforeEach
  void begin() {
    disk = new SpillFolder(Made.settings(folder, "spillBytes", "3k"));
    buffer = new Buffer(2 * Made.body("0").size(), disk);
  }

  @Test
  void memoryIsFilledThenTheDiskAndThenThereIsNoRoom() throws Exception {
    List<String> taken = fill();
    assertEquals(2, buffer.waiting());
    assertTrue(taken.size() > 2 && disk.size() > 0, taken.toString());
    assertEquals(taken, all());
  }

  @Test
  void whatHasLandedMakesRoom() throws Exception {
    fill();
    for (Batch each : buffer.seal()) {
      buffer.remove(each);
      buffer.remove(each); // a second removal has no effect
    }
    assertEquals(0, buffer.waiting());
    assertEquals(0, buffer.bytes());
    assertEquals(0, disk.size());
    assertTrue(buffer.offer(Made.body("0")));
    assertEquals(1, buffer.waiting());
  }

  @Test
  void aBatchThatDidNotLandIsTheSameTheNextTime() throws Exception {
    buffer.offer(Made.body("0"));
    Batch first = buffer.seal().get(0);
    buffer.offer(Made.body("1"));
    List<Batch> again = buffer.seal();
    assertEquals(first.id(), again.get(0).id());
    assertEquals(List.of("0"), Made.texts(again.get(0).bodies()));
    assertEquals(2, again.size());
  }

  @Test
  void aBatchIsNoLargerThanWhatATaskIsSent() throws Exception {
    Buffer large = new Buffer(64 << 20, disk);
    String text = "x".repeat(6 << 20);
    for (int each = 0; each < 5; each++) {
      large.offer(Made.body(text));
    }
    for (Batch batch : large.seal()) {
      assertTrue(batch.bodies().stream().mapToLong(Body::size).sum() <= Batch.BYTES);
    }
    assertEquals(5, large.waiting());
  }

  @Test
  void closedItTakesNothing() {
    buffer.close();
    assertFalse(buffer.offer(Made.body("0")));
  }

  @Test
  void whatTellsOfLossesFindsRoomWhereNothingElseDoes() throws Exception {
    List<String> taken = fill();
    buffer.offerAnyway(Made.body("losses"));
    assertEquals(taken.size() + 1, all().size());
    assertTrue(all().contains("losses"));
  }

  private List<String> fill() {
    List<String> taken = new ArrayList<>();
    for (int each = 0; buffer.offer(Made.body(String.valueOf(each))); each++) {
      taken.add(String.valueOf(each));
    }
    return taken;
  }

  private List<String> all() throws IOException {
    List<String> all = new ArrayList<>();
    for (Batch each : buffer.seal()) {
      all.addAll(Made.texts(each.bodies()));
    }
    return all;
  }
}
