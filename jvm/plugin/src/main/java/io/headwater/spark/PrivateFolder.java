package io.headwater.spark;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.UUID;

/** Creates folders that only this user can read, because bodies contain names of tables and SQL. */
final class PrivateFolder {
  private PrivateFolder() {}

  /** Return the folder of a table below the configured one; creates it, and throws IOException if others can read it. */
  static Path of(Path root, String table) throws IOException {
    make(root);
    return make(root.resolve(UUID.nameUUIDFromBytes(table.getBytes(StandardCharsets.UTF_8)).toString()));
  }

  /** Return the attributes for new files in the folder. */
  static FileAttribute<?>[] ofFiles(Path folder) {
    return permissions(folder, "rw-------");
  }

  private static Path make(Path folder) throws IOException {
    if (folder.getParent() != null) {
      Files.createDirectories(folder.getParent());
    }
    try {
      Files.createDirectory(folder, permissions(folder, "rwx------"));
    } catch (java.nio.file.FileAlreadyExistsException before) {
      check(folder);
    }
    return folder;
  }

  private static void check(Path folder) throws IOException {
    if (!Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
      throw new IOException(folder + " is no folder");
    }
    if (!posix(folder)) {
      return;
    }
    Set<PosixFilePermission> found = Files.getPosixFilePermissions(folder);
    if (!found.equals(PosixFilePermissions.fromString("rwx------")) || !Files.isWritable(folder)) {
      throw new IOException(
          folder + " is " + PosixFilePermissions.toString(found) + " or of another user. Make it rwx------, or name another one"
              + " in " + PluginSettings.PREFIX + "spillDir");
    }
  }

  private static FileAttribute<?>[] permissions(Path folder, String text) {
    return posix(folder)
        ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(text))}
        : new FileAttribute<?>[0];
  }

  private static boolean posix(Path folder) {
    return folder.getFileSystem().supportedFileAttributeViews().contains("posix");
  }
}
