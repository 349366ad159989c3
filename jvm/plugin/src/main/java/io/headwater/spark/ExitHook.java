package io.headwater.spark;

import java.util.concurrent.TimeUnit;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.util.ShutdownHookManager;

/**
 * Writes what waits when the process ends and nobody stopped the session.
 *
 * <p>Before Spark's own hook, which stops the context (priority 40): until then it can still write a table.
 */
final class ExitHook {
  /** Less than the hook may last, so that the commit has time. */
  static final long LISTENER_MILLIS = 30_000;

  private static final int PRIORITY = FileSystem.SHUTDOWN_HOOK_PRIORITY + 50;
  private static final long LONGEST_SECONDS = 60;

  private final Runnable work;

  ExitHook(Runnable work) {
    this.work = work;
    try {
      ShutdownHookManager.get().addShutdownHook(work, PRIORITY, LONGEST_SECONDS, TimeUnit.SECONDS);
    } catch (IllegalStateException ending) {
      // the process ends already
    }
  }

  void remove() {
    try {
      ShutdownHookManager.get().removeShutdownHook(work);
    } catch (IllegalStateException ending) {
      // the process ends: the hook finds nothing left to write
    }
  }
}
