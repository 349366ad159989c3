package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.headwater.testing.TroubledFileSystem;
import io.headwater.testing.TroubledFileSystem.Trouble;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.AccessControlException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LakeFolderTest {
  @TempDir Path folder;
  private final Trouble trouble = new Trouble();
  private final Configuration configuration = new Configuration();
  private LakeFolder lake;

  @BeforeEach
  void begin() {
    String name = UUID.randomUUID().toString();
    TroubledFileSystem.trouble(name, trouble);
    configuration.set("fs.troubled.impl", TroubledFileSystem.class.getName());
    lake = new LakeFolder(TroubledFileSystem.SCHEME + "://" + name + folder.toUri().getPath() + "my lineage/", configuration);
  }

  @Test
  void aBatchComesBackUnderItsIdUntilItIsDiscarded() throws Exception {
    assertEquals(List.of(), lake.left(), "no session has left anything");
    Batch batch = Made.batch("one", "two");
    assertTrue(lake.put(batch).endsWith("/my lineage/_headwater/" + batch.id() + ".ndjson"));
    Batch left = lake.left().get(0);
    assertEquals(batch.id(), left.id());
    assertEquals(List.of("one", "two"), Made.texts(left.bodies()));
    left.discard();
    left.discard();
    assertEquals(List.of(), lake.left());
  }

  @Test
  void whatAnotherSessionWasQuickerToTakeHasNothing() throws Exception {
    lake.put(Made.batch("one"));
    Batch left = lake.left().get(0);
    lake.left().get(0).discard();
    assertEquals(List.of(), left.bodies());
  }

  @Test
  void aStoreThatIsFullHasNothingUnderItsNameAndTakesItLater() throws Exception {
    Batch batch = Made.batch("one");
    trouble.room = 100;
    assertEquals("No space left on device", assertThrows(IOException.class, () -> lake.put(batch)).getMessage());
    assertEquals(List.of(), lake.left());
    trouble.room = Long.MAX_VALUE;
    lake.put(batch);
    assertEquals(List.of("one"), Made.texts(lake.left().get(0).bodies()));
    assertEquals(List.of(batch.id() + ".ndjson"), names());
  }

  @Test
  void aStoreWithoutATokenSaysSo() throws Exception {
    trouble.refusal = new AccessControlException("no token");
    assertThrows(AccessControlException.class, () -> lake.put(Made.batch("one")));
  }

  /** HDFS returns this if the name exists, and so does any client that repeats a rename after losing the response. */
  @Test
  void aBatchThatLiesThereAlreadyIsWellAndLeavesNothingBehind() throws Exception {
    Batch batch = Made.batch("one");
    lake.put(batch);
    trouble.renamesNothing = true;
    lake.put(batch);
    assertEquals(List.of(batch.id() + ".ndjson"), names());
    assertEquals(List.of("one"), Made.texts(lake.left().get(0).bodies()));
  }

  @Test
  void aRenameThatIsNotDoneIsAFault() throws Exception {
    Batch batch = Made.batch("one");
    trouble.renamesNothing = true;
    assertTrue(assertThrows(IOException.class, () -> lake.put(batch)).getMessage().contains("does not rename"));
    assertEquals(List.of(), lake.left());
  }

  @Test
  void aLineThatAKillToreCostsNoOther() throws Exception {
    Batch batch = Made.batch("one", "two");
    lake.put(batch);
    Path file = below().resolve(batch.id() + ".ndjson");
    byte[] whole = Files.readAllBytes(file);
    Files.write(file, Arrays.copyOf(whole, whole.length - 5));
    assertEquals(List.of("one"), Made.texts(lake.left().get(0).bodies()));
  }

  @Test
  void whatIsHiddenOrOfAnotherKindIsLeftAlone() throws Exception {
    Files.createDirectories(below());
    for (String name : List.of(".half.tmp", ".hidden.ndjson", "notes.txt")) {
      Files.writeString(below().resolve(name), "{}\n");
    }
    assertEquals(List.of(), lake.left());
  }

  private Path below() {
    return folder.resolve("my lineage").resolve(LakeFolder.NAME);
  }

  private List<String> names() throws IOException {
    try (Stream<Path> found = Files.list(below())) {
      return found.map(each -> each.getFileName().toString()).sorted().collect(Collectors.toList());
    }
  }
}
