package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.hadoop.util.ShutdownHookManager;
import org.junit.jupiter.api.Test;

class ExitHookTest {
  @Test
  void itRunsWhenTheProcessEndsUnlessItIsRemoved() {
    Runnable flush = () -> {};
    ExitHook hook = new ExitHook(flush);
    assertTrue(ShutdownHookManager.get().hasShutdownHook(flush));
    hook.remove();
    assertFalse(ShutdownHookManager.get().hasShutdownHook(flush));
    hook.remove();
  }
}
