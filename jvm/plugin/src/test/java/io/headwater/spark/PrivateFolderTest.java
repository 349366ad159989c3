package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PrivateFolderTest {
  @TempDir Path folder;

  @Test
  void eachTableHasAFolderOfItsOwnThatStaysTheSame() throws Exception {
    Path root = folder.resolve("not/yet/there");
    Path orders = PrivateFolder.of(root, "abfss://w@onelake/lake.Lakehouse/Tables/lineage");
    assertEquals(orders, PrivateFolder.of(root, "abfss://w@onelake/lake.Lakehouse/Tables/lineage"));
    assertNotEquals(orders, PrivateFolder.of(root, "ops.lineage"));
    for (Path each : new Path[] {root, orders}) {
      assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(each)));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"rwxr-x---", "rwx---r--", "rwxrwxrwx", "r-x------"})
  void aFolderWithOtherRightsIsRefusedWithItsFix(String rights) throws Exception {
    Path root = Files.createDirectory(folder.resolve("spill"));
    Files.setPosixFilePermissions(root, PosixFilePermissions.fromString(rights));
    String said = refused(root);
    assertTrue(said.contains(root + " is " + rights) && said.contains("Make it rwx------"), said);
    assertTrue(said.contains(PluginSettings.PREFIX + "spillDir"), said);
    Files.setPosixFilePermissions(root, PosixFilePermissions.fromString("rwx------"));
    PrivateFolder.of(root, "lineage");
  }

  @Test
  void theFolderOfATableIsLookedAtToo() throws Exception {
    Path root = folder.resolve("spill");
    Path table = PrivateFolder.of(root, "lineage");
    Files.setPosixFilePermissions(table, PosixFilePermissions.fromString("rwxr-xr-x"));
    assertTrue(refused(root).contains(table.toString()));
  }

  /** Another user may have created the link to a folder that this user can read. */
  @Test
  void aLinkIsNoFolder() throws Exception {
    Path elsewhere = Files.createDirectory(folder.resolve("elsewhere"));
    Files.setPosixFilePermissions(elsewhere, PosixFilePermissions.fromString("rwx------"));
    Path link = Files.createSymbolicLink(folder.resolve("spill"), elsewhere);
    assertEquals(link + " is no folder", refused(link));
    try (Stream<Path> made = Files.list(elsewhere)) {
      assertEquals(0, made.count());
    }
  }

  @Test
  void whereAFileIsInTheWayNothingIsMade() throws Exception {
    Path file = Files.createFile(folder.resolve("spill"));
    assertEquals(file + " is no folder", refused(file));
    assertThrows(IOException.class, () -> PrivateFolder.of(file.resolve("below"), "lineage"));
    assertThrows(IOException.class, () -> PrivateFolder.of(Path.of("/proc/nowhere"), "lineage"));
  }

  private static String refused(Path root) {
    return assertThrows(IOException.class, () -> PrivateFolder.of(root, "lineage")).getMessage();
  }
}
