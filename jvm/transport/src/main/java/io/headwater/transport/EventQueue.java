package io.headwater.transport;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Events that wait in memory, bounded by number and by bytes.
 *
 * <p>Many threads put, one takes. What is being written stays in it until it is stored, so that its size is what a kill loses.
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

  /** Add an event; false if there is no room for it, or nobody will take it any more. */
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

  /** Return the oldest events, at most a batch of them; they stay. */
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

  /** Let go of the oldest events. */
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

  /** Ask for everything to be written now. */
  void hurry() {
    lock.lock();
    try {
      hurried = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Take no more events, and ask for the rest to be written now. */
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
   * Wait until a batch is full, somebody is in a hurry, or the time is over.
   *
   * @return whether what is less than a batch is due, too
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

  /** Wait out the time before the next attempt at a store; when the queue is closed there is little of it. */
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
