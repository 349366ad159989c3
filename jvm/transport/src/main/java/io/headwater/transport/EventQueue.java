package io.headwater.transport;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Events that wait in memory, with limits for their number and their bytes.
 *
 * <p>Many threads add events, and one removes them. Events stay in the queue until they are stored, so its size is the number
 * of events that a kill would lose.
 */
final class EventQueue {
  private static final long RETRY_WHEN_CLOSED_MILLIS = 250;

  private final int batchSize;
  private final int capacity;
  private final long capacityBytes;
  private final ArrayDeque<byte[]> events = new ArrayDeque<>();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private long bytes;
  private boolean hurried;
  private boolean closed;

  EventQueue(Limits limits) {
    batchSize = limits.batchSize;
    capacity = limits.queueCapacity;
    capacityBytes = limits.queueBytes;
  }

  /** Add an event; returns false if the queue is full or closed. */
  boolean offer(byte[] event) {
    lock.lock();
    try {
      if (closed || events.size() == capacity || bytes + event.length > capacityBytes) {
        return false;
      }
      events.add(event);
      bytes += event.length;
      if (events.size() == batchSize) {
        changed.signalAll();
      }
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Return the oldest events, at most one batch, without removing them. */
  List<byte[]> head() {
    lock.lock();
    try {
      List<byte[]> head = new ArrayList<>(batchSize);
      for (Iterator<byte[]> each = events.iterator(); each.hasNext() && head.size() < batchSize; ) {
        head.add(each.next());
      }
      return head;
    } finally {
      lock.unlock();
    }
  }

  /** Remove the oldest events. */
  void remove(int count) {
    lock.lock();
    try {
      for (int each = 0; each < count; each++) {
        bytes -= events.remove().length;
      }
    } finally {
      lock.unlock();
    }
  }

  int size() {
    lock.lock();
    try {
      return events.size();
    } finally {
      lock.unlock();
    }
  }

  /** Request that all events are written now. */
  void hurry() {
    lock.lock();
    try {
      hurried = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Reject further events, and request that all remaining events are written now. */
  void close() {
    lock.lock();
    try {
      closed = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  boolean isClosed() {
    lock.lock();
    try {
      return closed;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Wait until a batch is full, a write is requested, or the time is over.
   *
   * @return whether an incomplete batch is due as well
   */
  boolean awaitBatch(long millis) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      long left = TimeUnit.MILLISECONDS.toNanos(millis);
      while (!closed && !hurried && events.size() < batchSize && left > 0) {
        left = changed.awaitNanos(left);
      }
      boolean all = closed || hurried || left <= 0;
      hurried = false;
      return all;
    } finally {
      lock.unlock();
    }
  }

  /** Wait before the next attempt; the wait is short if the queue is closed. */
  void awaitRetry(long millis) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      long began = System.nanoTime();
      long waited = 0;
      while (waited < (closed ? Math.min(millis, RETRY_WHEN_CLOSED_MILLIS) : millis)) {
        changed.await(closed ? RETRY_WHEN_CLOSED_MILLIS - waited : millis - waited, TimeUnit.MILLISECONDS);
        waited = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began);
      }
    } finally {
      lock.unlock();
    }
  }
}
