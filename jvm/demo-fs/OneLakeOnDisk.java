package headwater.demo;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/**
 * A local folder with OneLake addresses, so that Spark, Delta and the lineage listener behave as on Fabric.
 *
 * <p>{@code abfss://Sales@onelake.dfs.fabric.microsoft.com/Shop.Lakehouse/Tables/x} is the folder {@code
 * ROOT/Sales/Shop.Lakehouse/Tables/x}. The setting {@code headwater.demo.root} contains ROOT. No data leaves this machine.
 */
public final class OneLakeOnDisk extends RawLocalFileSystem {
  public static final String ROOT = "headwater.demo.root";

  private URI uri;
  private File container;

  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    String root = conf.get(ROOT);
    if (root == null) {
      throw new IOException("Set spark.hadoop." + ROOT + " to the local folder that stands for OneLake.");
    }
    uri = URI.create(name.getScheme() + "://" + name.getRawAuthority());
    container = new File(root, name.getUserInfo() == null ? name.getHost() : name.getUserInfo());
    Files.createDirectories(container.toPath());
    super.initialize(name, conf);
  }

  @Override
  public String getScheme() {
    return "abfss";
  }

  @Override
  public URI getUri() {
    return uri;
  }

  @Override
  protected Path getInitialWorkingDirectory() {
    return new Path("/"); // the superclass constructor calls this before the URI is set
  }

  @Override
  public File pathToFile(Path path) {
    checkPath(path);
    return new File(container, Path.getPathWithoutSchemeAndAuthority(makeQualified(path)).toString());
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    return named(super.getFileStatus(path), path);
  }

  @Override
  public FileStatus getFileLinkStatus(Path path) throws IOException {
    return getFileStatus(path); // OneLake has no symbolic links
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    return pathToFile(path).isFile() ? new FileStatus[] {getFileStatus(path)} : super.listStatus(path);
  }

  /** Rename atomically without replacing a file; Delta's commits on Azure depend on this. */
  @Override
  public boolean rename(Path source, Path target) throws IOException {
    boolean into = pathToFile(target).isDirectory();
    java.nio.file.Path from = pathToFile(source).toPath();
    java.nio.file.Path to = pathToFile(into ? new Path(target, source.getName()) : target).toPath();
    try {
      if (Files.isDirectory(from)) {
        if (Files.exists(to)) {
          return false;
        }
        Files.move(from, to);
      } else {
        Files.createLink(to, from); // fails if the name exists, unlike a plain rename
        Files.delete(from);
      }
      return true;
    } catch (FileAlreadyExistsException | NoSuchFileException | FileNotFoundException error) {
      return false;
    }
  }

  private FileStatus named(FileStatus local, Path path) {
    return new FileStatus(
        local.getLen(),
        local.isDirectory(),
        local.getReplication(),
        local.getBlockSize(),
        local.getModificationTime(),
        makeQualified(path));
  }
}
