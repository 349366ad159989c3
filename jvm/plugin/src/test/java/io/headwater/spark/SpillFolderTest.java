package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SpillFolderTest {
  @TempDir Path folder;

  @Test
  void onlyThisUserCanLookIntoIt() throws Exception {
    SpillFolder disk = new SpillFolder(Made.settings(folder));
    assertTrue(disk.offer(Made.body("{}")));
    assertEquals("rwx------", permissions(folder.resolve("spill")));
    assertEquals("rwx------", permissions(disk.folder()));
    assertEquals("rw-------", permissions(files(disk).get(0)));
  }

  @Test
  void aFolderThatOthersCanLookIntoIsNotUsedAndSaysSoOnce() throws Exception {
    Files.createDirectory(folder.resolve("spill"), PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-xr-x")));
    SpillFolder disk = new SpillFolder(Made.settings(folder));
    List<String> said =
        Made.logged(
            () -> {
              assertFalse(disk.offer(Made.body("{}")));
              assertFalse(disk.offer(Made.body("{}")));
            });
    assertEquals(1, said.size(), said.toString());
    assertTrue(said.get(0).contains("Make it rwx------"), said.toString());
  }

  @Test
  void itIsBounded() {
    SpillFolder disk = new SpillFolder(Made.settings(folder, "spillBytes", "4k"));
    int taken = 0;
    while (disk.offer(Made.body("x".repeat(300)))) {
      taken++;
    }
    assertTrue(taken > 1, taken + " taken");
    assertTrue(disk.size() <= 4096, disk.size() + " bytes");
  }

  @Test
  void aBatchStaysTheSameWhileMoreComes() throws Exception {
    SpillFolder disk = new SpillFolder(Made.settings(folder));
    disk.offer(Made.body("one"));
    Batch first = disk.seal().get(0);
    disk.offer(Made.body("two"));
    assertEquals(List.of("one"), Made.texts(first.bodies()));
    assertEquals(first.id(), disk.seal().get(0).id());
    disk.remove(first);
    assertEquals(List.of("two"), Made.texts(disk.seal().get(0).bodies()));
    assertEquals(1, files(disk).size());
  }

  @Test
  void aFileOfASessionThatLivesIsNotTakenAndOneOfASessionThatEndedIs() throws Exception {
    SpillFolder before = new SpillFolder(Made.settings(folder));
    before.offer(Made.body("one"));
    SpillFolder after = new SpillFolder(Made.settings(folder));
    assertEquals(List.of(), before.left(), "its own");
    assertEquals(List.of(), after.left(), "of a session that lives");

    before.close();
    List<Batch> left = after.left();
    assertEquals(List.of("one"), Made.texts(left.get(0).bodies()));
    left.get(0).discard();
    assertEquals(List.of(), after.left());
  }

  @Test
  void aFileOfAnotherProcessIsTakenWhenThatIsKilled() throws Exception {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    Process other =
        new ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), Spilling.class.getName(), folder.toString())
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    SpillFolder disk = new SpillFolder(Made.settings(folder));
    assertEquals('.', other.getInputStream().read());
    assertEquals(List.of(), disk.left(), "of a session that lives");
    other.destroyForcibly();
    assertTrue(other.waitFor(60, TimeUnit.SECONDS));
    assertEquals(List.of("killed"), Made.texts(disk.left().get(0).bodies()));
  }

  @Test
  void aFileOfAnotherTableIsNotTaken() throws Exception {
    SpillFolder before = new SpillFolder(Made.settings(folder, "table", "/lake/other"));
    before.offer(Made.body("one"));
    before.close();
    assertEquals(List.of(), new SpillFolder(Made.settings(folder)).left());
  }

  /** Another session, which waits until the test kills it. */
  static final class Spilling {
    public static void main(String[] folder) throws IOException {
      new SpillFolder(Made.settings(Path.of(folder[0]))).offer(Made.body("killed"));
      System.out.print('.');
      System.out.flush();
      System.in.read();
    }
  }

  static List<Path> files(SpillFolder disk) {
    try (Stream<Path> found = Files.list(disk.folder())) {
      return found.collect(Collectors.toList());
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private static String permissions(Path path) throws IOException {
    return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
  }
}
