package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.headwater.testing.TroubledFileSystem;
import io.headwater.testing.TroubledFileSystem.Trouble;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.AccessControlException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FlushTest {
  @TempDir Path folder;
  private final Trouble trouble = new Trouble();
  private final Configuration configuration = new Configuration();
  private final Memory table = new Memory();
  private Buffer buffer;
  private SpillFolder disk;
  private Flush flush;

  @BeforeEach
  void begin() {
    String name = UUID.randomUUID().toString();
    TroubledFileSystem.trouble(name, trouble);
    configuration.set("fs.troubled.impl", TroubledFileSystem.class.getName());
    table.location = TroubledFileSystem.SCHEME + "://" + name + folder.resolve("lineage").toUri().getPath();
    session();
  }

  @Test
  void whatWaitsLandsOnce() throws Exception {
    buffer.offer(Made.body("one"));
    buffer.offer(Made.body("two"));
    assertEquals(2, flush.write());
    assertEquals(0, flush.write());
    assertEquals(List.of("one", "two"), table.texts());
  }

  @Test
  void aCommitWhoseAnswerWasLostIsNotDoneTwice() throws Exception {
    buffer.offer(Made.body("one"));
    table.losesAnswers = 5;
    assertThrows(IOException.class, flush::write);
    assertEquals(1, buffer.waiting());
    buffer.offer(Made.body("two"));
    assertEquals(2, flush.write());
    assertEquals(List.of("one", "two"), table.texts());
  }

  @Test
  void whatIsLeftAtTheEndLiesBesideTheTableAndTheNextSessionTakesIt() throws Exception {
    buffer.offer(Made.body("last"));
    List<String> said = Made.logged(flush::leave);
    assertTrue(said.get(0).contains("1 LINEAGE EVENTS ARE NOT IN"), said.toString());
    assertTrue(said.get(0).contains("/lineage/_headwater/"), said.toString());

    session();
    assertEquals(1, flush.write());
    assertEquals(0, flush.write());
    assertEquals(List.of("last"), table.texts());
  }

  @Test
  void aStoreThatRefusesLeavesItOnDiskAndTheNextSessionTakesItOnceAlthoughItLiesInBoth() throws Exception {
    buffer.offer(Made.body("last"));
    trouble.losesAnswers = true;
    List<String> said = Made.logged(flush::leave);
    assertTrue(said.get(0).contains(disk.folder().toString()), said.toString());
    trouble.losesAnswers = false;

    session();
    flush.write();
    assertEquals(List.of("last"), table.texts());
    assertEquals(0, flush.write());
  }

  @Test
  void aStoreWithoutATokenOrFullLeavesItOnDisk() throws Exception {
    buffer.offer(Made.body("last"));
    trouble.refusal = new AccessControlException("no token");
    flush.leave();
    trouble.refusal = null;
    session();
    assertEquals(1, flush.write());
  }

  @Test
  void aStoreThatHangsDoesNotHoldTheEndUp() throws Exception {
    buffer.offer(Made.body("last"));
    trouble.gate.drainPermits();
    new Flush(buffer, disk, table, configuration, 50).leave();
    session();
    assertEquals(1, flush.write());

    trouble.gate.release(1_000_000); // the write completes late, and the batch is skipped
    trouble.landed.acquire();
    flush.write();
    assertEquals(List.of("last"), table.texts());
    assertEquals(List.of(), new LakeFolder(table.location, configuration).left());
  }

  @Test
  void whatWasSpilledIsLeftWhereItIs() throws Exception {
    trouble.refusal = new IOException("out of reach");
    buffer = new Buffer(1, disk);
    flush = new Flush(buffer, disk, table, configuration);
    buffer.offer(Made.body("spilled"));
    flush.leave();
    assertEquals(1, SpillFolderTest.files(disk).size());

    trouble.refusal = null;
    session();
    assertEquals(1, flush.write());
    assertEquals(List.of("spilled"), table.texts());
    assertEquals(List.of(), SpillFolderTest.files(disk));
  }

  @Test
  void whatCanBeLeftNowhereIsSaid() throws Exception {
    buffer.offer(Made.body("lost"));
    table.location = null;
    disk = new SpillFolder(Made.settings(Path.of("/proc/nowhere")));
    flush = new Flush(buffer, disk, table, configuration);
    List<String> said = Made.logged(flush::leave);
    assertTrue(said.stream().anyMatch(each -> each.contains("1 LINEAGE EVENTS ARE LOST")), said.toString());
    assertTrue(said.stream().noneMatch(each -> each.contains("NOT IN")), said.toString());
  }

  private void session() {
    disk = new SpillFolder(Made.settings(folder));
    buffer = new Buffer(1 << 20, disk);
    flush = new Flush(buffer, disk, table, configuration);
  }

  /** A table that skips known transactions, as Delta does, and can lose responses. */
  private static final class Memory implements LineageTable {
    private final Map<String, List<Body>> landed = new LinkedHashMap<>();
    private String location;
    private int losesAnswers;

    @Override
    public void append(Batch batch) throws IOException {
      landed.putIfAbsent(batch.id(), new ArrayList<>(batch.bodies()));
      if (losesAnswers-- > 0) {
        throw new IOException("Connection reset");
      }
    }

    @Override
    public String name() {
      return "lineage";
    }

    @Override
    public String location() {
      return location;
    }

    List<String> texts() {
      List<Body> all = new ArrayList<>();
      landed.values().forEach(all::addAll);
      return Made.texts(all);
    }
  }
}
