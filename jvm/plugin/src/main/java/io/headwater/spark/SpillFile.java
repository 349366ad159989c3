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
 * A file of bodies on the driver's disk, named after the ID of the batch.
 *
 * <p>The session holds a lock on it. An unlocked file belongs to a session that was killed or could not write it, and any
 * session may process it.
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

  /** Create a new file that is locked before other sessions can see it. */
  static SpillFile create(Path folder) throws IOException {
    return create(folder, UUID.randomUUID().toString());
  }

  /** Create the file of a batch with an existing ID. */
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

  /** Lock and return the file, or return null if another session has locked it. */
  static SpillFile take(Path file) throws IOException {
    FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
    try {
      FileLock lock = channel.tryLock();
      if (lock != null && Files.exists(file)) {
        return new SpillFile(file, channel);
      }
    } catch (OverlappingFileLockException ours) {
      // another thread of this process has locked it
    }
    channel.close();
    return null;
  }

  /** Append a body; removes a partially written body if the disk is full. */
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

  /** Unlock the file, so that another session can process it. */
  @Override
  public void close() throws IOException {
    channel.close();
  }
}
