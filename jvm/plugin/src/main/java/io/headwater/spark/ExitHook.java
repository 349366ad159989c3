package io.headwater.spark;

import java.util.concurrent.TimeUnit;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.util.ShutdownHookManager;

/**
 * Writes the waiting bodies if the process exits without stopping the session.
 *
 * <p>It runs before Spark's hook (priority 40), which stops the context; afterwards, no table can be written.
 */
final class ExitHook {
  /** Shorter than the limit of the hook, so that time is left for the commit. */
  static final long LISTENER_MILLIS = 30_000;

  private static final int PRIORITY = FileSystem.SHUTDOWN_HOOK_PRIORITY + 50;
  private static final long LONGEST_SECONDS = 60;

  private final Runnable work;

  ExitHook(Runnable work) {
    this.work = work;
    try {
      ShutdownHookManager.get().addShutdownHook(work, PRIORITY, LONGEST_SECONDS, TimeUnit.SECONDS);
    } catch (IllegalStateException ending) {
      // the process is already exiting
    }
  }

  void remove() {
    try {
      ShutdownHookManager.get().removeShutdownHook(work);
    } catch (IllegalStateException ending) {
      // the process is already exiting, and the hook will find nothing to write
    }
  }
}
