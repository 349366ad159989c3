package io.headwater.spark;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.UUID;

/**
 * Bodies that wait to be written: in memory up to a limit, then on disk up to a second limit.
 *
 * <p>A body stays in the buffer until it is written, so {@link #waiting} is the number of bodies that a kill would lose.
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

  /** Add a body; returns false if memory and disk are full, or if the buffer is closed. */
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

  /** Add a report of dropped bodies even if the buffer is full. It is only a few bytes long. */
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

  /** Reject further bodies. */
  synchronized void close() {
    closed = true;
  }

  /** Return all waiting bodies as batches, in memory first. A batch stays unchanged until it is removed. */
  synchronized List<Batch> seal() {
    sealOpen();
    List<Batch> all = new ArrayList<>(sealed);
    all.addAll(disk.seal());
    return all;
  }

  /** Remove a batch that was written. */
  synchronized void remove(Batch batch) throws IOException {
    if (sealed.remove(batch)) {
      bytes -= ((InMemory) batch).size;
    } else {
      disk.remove(batch);
    }
  }

  /** Return the number of bodies in memory. */
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
      // the buffer releases the memory
    }
  }
}
