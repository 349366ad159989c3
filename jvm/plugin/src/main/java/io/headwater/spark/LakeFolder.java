package io.headwater.spark;

import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * The folder {@code _headwater} in the table's folder, for batches that a session could not write at its end. When a context
 * stops, a session can no longer commit, but Hadoop can still write files.
 *
 * <p>Delta ignores names that start with an underscore, both when it reads and when it vacuums.
 */
final class LakeFolder {
  static final String NAME = "_headwater";

  private final Path folder;
  private final Configuration configuration;

  LakeFolder(String location, Configuration configuration) {
    folder = new Path(new Path(location), NAME);
    this.configuration = configuration;
  }

  /** Write a batch atomically to a file named after its ID; returns the path. */
  String put(Batch batch) throws IOException {
    FileSystem files = open();
    Path place = new Path(folder, batch.id() + SpillFile.SUFFIX);
    Path temporary = new Path(folder, "." + batch.id() + ".tmp");
    try (OutputStream out = files.create(temporary, true)) {
      out.write(Lines.write(batch.bodies()));
    }
    if (!files.rename(temporary, place)) {
      if (!files.exists(place)) {
        throw new IOException("the store does not rename " + temporary.getName());
      }
      files.delete(temporary, false);
    }
    return place.toString();
  }

  /** Return the batches that sessions stored here. */
  List<Batch> left() throws IOException {
    List<Batch> left = new ArrayList<>();
    try {
      for (FileStatus each : open().listStatus(folder)) {
        String name = each.getPath().getName();
        if (!name.startsWith(".") && name.endsWith(SpillFile.SUFFIX)) {
          left.add(new InLake(each.getPath()));
        }
      }
    } catch (FileNotFoundException none) {
      // no session has stored a batch
    }
    return left;
  }

  private FileSystem open() throws IOException {
    return folder.getFileSystem(configuration);
  }

  private final class InLake implements Batch {
    private final Path file;

    InLake(Path file) {
      this.file = file;
    }

    @Override
    public String id() {
      String name = file.getName();
      return name.substring(0, name.length() - SpillFile.SUFFIX.length());
    }

    @Override
    public List<Body> bodies() throws IOException {
      ByteArrayOutputStream whole = new ByteArrayOutputStream();
      try (InputStream in = open().open(file)) {
        in.transferTo(whole);
      } catch (FileNotFoundException taken) {
        return List.of(); // another session has processed the file
      }
      return Lines.read(whole.toByteArray(), file);
    }

    @Override
    public void discard() throws IOException {
      open().delete(file, false);
    }
  }
}
