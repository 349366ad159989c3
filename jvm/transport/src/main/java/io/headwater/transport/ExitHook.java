package io.headwater.transport;

import java.util.concurrent.TimeUnit;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.util.ShutdownHookManager;

/**
 * Drains the transport if the process exits without closing it.
 *
 * <p>It runs after Spark's hook, which ends the application and sends its last events (priority 40), and before Hadoop's hook,
 * which closes the file systems (10).
 */
final class ExitHook {
  private static final int PRIORITY = FileSystem.SHUTDOWN_HOOK_PRIORITY + 10;

  private final Runnable drain;

  ExitHook(Runnable drain, Limits limits) {
    this.drain = drain;
    try {
      ShutdownHookManager.get().addShutdownHook(drain, PRIORITY, 2 * limits.closeMillis, TimeUnit.MILLISECONDS);
    } catch (IllegalStateException ending) {
      // the process is already exiting, so only Spark can close the transport
    }
  }

  void remove() {
    try {
      ShutdownHookManager.get().removeShutdownHook(drain);
    } catch (IllegalStateException ending) {
      // the process is already exiting, and the hook will find nothing to write
    }
  }
}
