package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SpillFileTest {
  @TempDir Path folder;

  @Test
  void itIsNamedByItsBatchAndNobodyElseTakesItWhileItIsOpen() throws Exception {
    Path path = folder.resolve("7.ndjson");
    try (SpillFile file = SpillFile.create(folder, "7")) {
      file.append(Made.body("one"));
      assertEquals("7", file.id());
      assertEquals(path, file.file());
      assertEquals(Files.size(path), file.size());
    }
    try (SpillFile taken = SpillFile.take(path)) {
      assertEquals(List.of("one"), Made.texts(taken.bodies()));
      assertNull(SpillFile.take(path));
    }
  }

  @Test
  void whatIsAppendedAfterItWasReadIsReadTheNextTime() throws Exception {
    try (SpillFile file = SpillFile.create(folder)) {
      file.append(Made.body("one"));
      assertEquals(List.of("one"), Made.texts(file.bodies()));
      file.append(Made.body("two"));
      assertEquals(List.of("one", "two"), Made.texts(file.bodies()));
      file.discard();
      assertTrue(Files.notExists(file.file()));
    }
  }

  /** The system writes only the first part of a line, here because of the process's limit on file sizes. */
  @Test
  void aLineOfWhichTheDiskTookHalfIsTakenBackAndTheNextIsWhole() throws Exception {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    Process other =
        new ProcessBuilder(
                "bash", "-c", "ulimit -f 8; exec \"$0\" \"$@\"", java, "-XX:-UsePerfData", "-cp",
                System.getProperty("java.class.path"), Filling.class.getName(), folder.toString())
            .redirectErrorStream(true)
            .start();
    String said = new String(other.getInputStream().readAllBytes());
    assertTrue(other.waitFor(60, TimeUnit.SECONDS));
    assertTrue(said.contains("refused: "), said);
    try (SpillFile file = SpillFile.take(folder.resolve("7.ndjson"))) {
      assertEquals(List.of("before", "after"), Made.texts(file.bodies()));
    }
  }

  /** Writes more than the limit allows, and continues. */
  static final class Filling {
    public static void main(String[] folder) throws IOException {
      try (SpillFile file = SpillFile.create(Path.of(folder[0]), "7")) {
        file.append(Made.body("before"));
        try {
          file.append(Made.body("x".repeat(20_000)));
        } catch (IOException full) {
          System.out.println("refused: " + full.getMessage());
        }
        file.append(Made.body("after"));
      }
    }
  }
}
