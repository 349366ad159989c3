package io.headwater.spark;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.UUID;

/**
 * A file of bodies on the driver's disk, whose name is the id of the batch it is.
 *
 * <p>It is locked as long as its session lives: what is not locked is of a session that was killed, or could not write at its
 * end, and whoever finds it takes it.
 */
final class SpillFile implements Batch, AutoCloseable {
  static final String SUFFIX = ".ndjson";

  private final Path file;
  private final FileChannel channel;
  private long size;

  private SpillFile(Path file, FileChannel channel) throws IOException {
    this.file = file;
    this.channel = channel;
    size = channel.size();
  }

  /** Make a new file, locked before anybody can see it. */
  static SpillFile create(Path folder) throws IOException {
    return create(folder, UUID.randomUUID().toString());
  }

  /** Make the file of a batch that has its id already. */
  static SpillFile create(Path folder, String id) throws IOException {
    Path hidden = folder.resolve("." + id + ".new");
    FileChannel channel =
        FileChannel.open(
            hidden, java.util.Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE),
            PrivateFolder.ofFiles(folder));
    try {
      channel.lock();
      Path file = folder.resolve(id + SUFFIX);
      Files.move(hidden, file, StandardCopyOption.ATOMIC_MOVE);
      return new SpillFile(file, channel);
    } catch (IOException error) {
      channel.close();
      Files.deleteIfExists(hidden);
      throw error;
    }
  }

  /** Return the file if no living session has it, locked for this one; else null. */
  static SpillFile take(Path file) throws IOException {
    FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
    try {
      FileLock lock = channel.tryLock();
      if (lock != null && Files.exists(file)) {
        return new SpillFile(file, channel);
      }
    } catch (OverlappingFileLockException ours) {
      // another thread of this process has it
    }
    channel.close();
    return null;
  }

  /** Add a body; one that was half written when the disk was full is taken back. */
  void append(Body body) throws IOException {
    byte[] line = body.line();
    ByteBuffer buffer = ByteBuffer.allocate(line.length + 1).put(line).put((byte) '\n').flip();
    try {
      long at = size;
      while (buffer.hasRemaining()) {
        at += channel.write(buffer, at);
      }
      size = at;
    } catch (IOException error) {
      channel.truncate(size);
      throw error;
    }
  }

  long size() {
    return size;
  }

  Path file() {
    return file;
  }

  @Override
  public String id() {
    String name = file.getFileName().toString();
    return name.substring(0, name.length() - SUFFIX.length());
  }

  @Override
  public List<Body> bodies() throws IOException {
    channel.position(0);
    ByteArrayOutputStream whole = new ByteArrayOutputStream();
    InputStream in = Channels.newInputStream(channel);
    in.transferTo(whole);
    return Lines.read(whole.toByteArray(), file);
  }

  @Override
  public void discard() throws IOException {
    Files.deleteIfExists(file);
    close();
  }

  /** Leave it to whoever finds it. */
  @Override
  public void close() throws IOException {
    channel.close();
  }
}
