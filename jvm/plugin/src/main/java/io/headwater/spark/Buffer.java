package io.headwater.spark;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.UUID;

/**
 * Bodies that wait to be written: in memory up to a bound, then on disk up to another.
 *
 * <p>What is being written stays until it has landed, so that {@link #waiting} is what a kill puts at risk.
 */
final class Buffer {
  private final long capacity;
  private final SpillFolder disk;
  private final Deque<InMemory> sealed = new ArrayDeque<>();
  private InMemory open = new InMemory();
  private long bytes;
  private boolean closed;

  Buffer(long capacity, SpillFolder disk) {
    this.capacity = capacity;
    this.disk = disk;
  }

  /** Add a body; false if there is no room for it in memory or on disk, or nobody writes it any more. */
  synchronized boolean offer(Body body) {
    if (closed) {
      return false;
    }
    long size = body.size();
    if (bytes + size > capacity) {
      return disk.offer(body);
    }
    add(body, size);
    return true;
  }

  /** Add a body of ours whether there is room or not: the few bytes that tell what was dropped. */
  synchronized void offerAnyway(Body body) {
    add(body, body.size());
  }

  private void add(Body body, long size) {
    if (open.size > 0 && open.size + size > Batch.BYTES) {
      sealOpen();
    }
    open.bodies.add(body);
    open.size += size;
    bytes += size;
  }

  /** Take no more. */
  synchronized void close() {
    closed = true;
  }

  /** Return all that waits as batches, in memory first; each stays the same until it is removed. */
  synchronized List<Batch> seal() {
    sealOpen();
    List<Batch> all = new ArrayList<>(sealed);
    all.addAll(disk.seal());
    return all;
  }

  /** Let go of a batch that has landed. */
  synchronized void remove(Batch batch) throws IOException {
    if (sealed.remove(batch)) {
      bytes -= ((InMemory) batch).size;
    } else {
      disk.remove(batch);
    }
  }

  /** Return how many bodies are in memory. */
  synchronized int waiting() {
    return open.bodies.size() + sealed.stream().mapToInt(each -> each.bodies.size()).sum();
  }

  synchronized long bytes() {
    return bytes;
  }

  private void sealOpen() {
    if (!open.bodies.isEmpty()) {
      sealed.add(open);
      open = new InMemory();
    }
  }

  private static final class InMemory implements Batch {
    private final String id = UUID.randomUUID().toString();
    private final List<Body> bodies = new ArrayList<>();
    private long size;

    @Override
    public String id() {
      return id;
    }

    @Override
    public List<Body> bodies() {
      return bodies;
    }

    @Override
    public void discard() {
      // memory is let go of by the buffer
    }
  }
}
