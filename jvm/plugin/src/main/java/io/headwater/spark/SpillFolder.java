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

/** The driver's disk, for what memory has no room for: bounded, in files of about a batch each. */
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

  /** Add a body; false if there is no room for it or the disk does not take it. */
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

  /** Return what lies on disk as batches; what comes next goes into a file of its own. */
  synchronized List<Batch> seal() {
    if (current != null) {
      full.add(current);
      current = null;
    }
    return new ArrayList<>(full);
  }

  /** Forget a batch of {@link #seal}, which has landed. */
  synchronized void remove(Batch batch) throws IOException {
    if (full.remove(batch)) {
      batch.discard();
    }
  }

  /** Leave a batch that could not be written to who finds it. */
  void keep(Batch batch) throws IOException {
    if (!(batch instanceof SpillFile)) {
      try (SpillFile file = SpillFile.create(folder(), batch.id())) {
        for (Body body : batch.bodies()) {
          file.append(body);
        }
      }
    }
  }

  /** Let go of the files that are left, so that the next session finds them. */
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

  /** Return the files of this table that sessions left here which are no more. */
  List<Batch> left() throws IOException {
    List<Batch> left = new ArrayList<>();
    for (Path each : files()) {
      try {
        SpillFile file = SpillFile.take(each);
        if (file != null) {
          left.add(file);
        }
      } catch (NoSuchFileException gone) {
        // another session was quicker
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
          .filter(each -> !isOwn(each)) // Linux drops a lock of ours as soon as we open and close the file once more
          .filter(each -> !each.getFileName().toString().startsWith(".") && each.toString().endsWith(SpillFile.SUFFIX))
          .sorted()
          .collect(Collectors.toList());
    }
  }
}
