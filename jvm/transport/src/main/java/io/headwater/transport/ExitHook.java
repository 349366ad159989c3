package io.headwater.transport;

import java.util.concurrent.TimeUnit;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.util.ShutdownHookManager;

/**
 * Drains a transport that nobody closes when the process ends.
 *
 * <p>Between Spark's own hook, which ends the application and brings its last events (priority 40), and Hadoop's, which closes
 * the file systems (10).
 */
final class ExitHook {
  private static final int PRIORITY = FileSystem.SHUTDOWN_HOOK_PRIORITY + 10;

  private final Runnable drain;

  ExitHook(Runnable drain, Limits limits) {
    this.drain = drain;
    try {
      ShutdownHookManager.get().addShutdownHook(drain, PRIORITY, 2 * limits.closeMillis, TimeUnit.MILLISECONDS);
    } catch (IllegalStateException ending) {
      // the process ends already: Spark closes the transport, or nobody does
    }
  }

  void remove() {
    try {
      ShutdownHookManager.get().removeShutdownHook(drain);
    } catch (IllegalStateException ending) {
      // the process ends: the hook finds nothing left to write
    }
  }
}
