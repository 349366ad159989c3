package io.headwater.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Stores bodies on the driver's disk when memory is full: up to a limit, in files of about one batch. */
final class SpillFolder {
  private static final Logger LOG = LoggerFactory.getLogger(HeadwaterPlugin.class);

  private final PluginSettings settings;
  private final Deque<SpillFile> full = new ArrayDeque<>();
  private Path folder;
  private SpillFile current;
  private boolean said;

  SpillFolder(PluginSettings settings) {
    this.settings = settings;
  }

  /** Add a body; returns false if the limit is reached or the disk write fails. */
  synchronized boolean offer(Body body) {
    try {
      if (size() + body.size() * 4 / 3 > settings.spillBytes) {
        return false;
      }
      if (current == null) {
        current = SpillFile.create(folder());
      }
      current.append(body);
      if (current.size() >= Batch.BYTES) {
        full.add(current);
        current = null;
      }
      return true;
    } catch (IOException error) {
      if (!said) {
        LOG.error("Headwater plugin: nothing can be spilled to disk: {}.", error.toString());
      }
      said = true;
      return false;
    }
  }

  /** Return the files on disk as batches; later bodies go to a new file. */
  synchronized List<Batch> seal() {
    if (current != null) {
      full.add(current);
      current = null;
    }
    return new ArrayList<>(full);
  }

  /** Delete a batch of {@link #seal} that was written. */
  synchronized void remove(Batch batch) throws IOException {
    if (full.remove(batch)) {
      batch.discard();
    }
  }

  /** Store a batch that could not be written for another session. */
  void keep(Batch batch) throws IOException {
    if (!(batch instanceof SpillFile)) {
      try (SpillFile file = SpillFile.create(folder(), batch.id())) {
        for (Body body : batch.bodies()) {
          file.append(body);
        }
      }
    }
  }

  /** Unlock the remaining files, so that the next session finds them. */
  synchronized void close() {
    for (Batch each : seal()) {
      try {
        ((SpillFile) each).close();
      } catch (IOException error) {
        LOG.warn("Headwater plugin: {} cannot be closed: {}.", ((SpillFile) each).file(), error.toString());
      }
    }
    full.clear();
  }

  /** Lock and return the files of this table that ended sessions have stored. */
  List<Batch> left() throws IOException {
    List<Batch> left = new ArrayList<>();
    for (Path each : files()) {
      try {
        SpillFile file = SpillFile.take(each);
        if (file != null) {
          left.add(file);
        }
      } catch (NoSuchFileException gone) {
        // another session has processed the file
      }
    }
    return left;
  }

  synchronized long size() {
    return full.stream().mapToLong(SpillFile::size).sum() + (current == null ? 0 : current.size());
  }

  synchronized Path folder() throws IOException {
    if (folder == null) {
      folder = PrivateFolder.of(settings.spillDir, settings.table);
    }
    return folder;
  }

  private synchronized boolean isOwn(Path file) {
    return current != null && current.file().equals(file) || full.stream().anyMatch(each -> each.file().equals(file));
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> found = Files.list(folder())) {
      return found
          .filter(each -> !isOwn(each)) // on Linux, opening and closing the file again would release its lock
          .filter(each -> !each.getFileName().toString().startsWith(".") && each.toString().endsWith(SpillFile.SUFFIX))
          .sorted()
          .collect(Collectors.toList());
    }
  }
}
