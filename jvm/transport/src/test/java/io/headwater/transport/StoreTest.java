package io.headwater.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.hadoop.security.AccessControlException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StoreTest {
  @TempDir Path folder;
  private World world;
  private Store store;
  private BatchFile file;

  @BeforeEach
  void begin() {
    world = new World(folder);
    store = world.store();
    file = new BatchFile(world.now, List.of("{\"a\":1}".getBytes(), "{\"b\":2}".getBytes()), null);
  }

  @Test
  void aFileLandsUnderItsNameInTheFolderOfItsDay() throws Exception {
    store.put(file);
    assertEquals(List.of(folder.resolve("lineage/dt=2026-03-01").resolve(file.name())), world.all());
    assertEquals(List.of("{\"a\":1}", "{\"b\":2}"), world.lines());
  }

  @Test
  void whatIsHalfWrittenHasANameThatReadersPassOverAndIsWrittenAnew() throws Exception {
    world.trouble.room = 10;
    assertEquals("No space left on device", assertThrows(IOException.class, () -> store.put(file)).getMessage());
    assertEquals(List.of(), world.files());
    assertEquals("." + file.name() + ".tmp", world.all().get(0).getFileName().toString());

    world.trouble.room = Long.MAX_VALUE;
    store.put(file);
    assertEquals(1, world.all().size());
    assertEquals(List.of("{\"a\":1}", "{\"b\":2}"), world.lines());
  }

  @Test
  void aRenameWhoseAnswerWasLostIsNotDoneTwice() throws Exception {
    world.trouble.losesAnswers = true;
    assertThrows(IOException.class, () -> store.put(file));
    store.put(file);
    assertEquals(1, world.trouble.landed.availablePermits());
    assertEquals(1, world.all().size());
  }

  @Test
  void aStoreThatSomebodyClosedIsOpenedAnew() throws Exception {
    store.prepare();
    new org.apache.hadoop.fs.Path(world.config.location).getFileSystem(world.configuration()).close();
    store.put(file);
    assertEquals(1, world.files().size());
  }

  @Test
  void toPrepareFailsWhereAWriteWould() throws Exception {
    store.prepare();
    assertTrue(Files.isDirectory(folder.resolve("lineage")));
    world.trouble.refusal = new AccessControlException("no token");
    assertThrows(AccessControlException.class, store::prepare);
  }
}
