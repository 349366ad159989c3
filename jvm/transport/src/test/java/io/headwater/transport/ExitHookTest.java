package io.headwater.transport;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.hadoop.util.ShutdownHookManager;
import org.junit.jupiter.api.Test;

class ExitHookTest {
  @Test
  void itRunsWhenTheProcessEndsUnlessItIsRemoved() {
    Runnable drain = () -> {};
    ExitHook hook = new ExitHook(drain, new Limits(new OneLakeTransportConfig()));
    assertTrue(ShutdownHookManager.get().hasShutdownHook(drain));
    hook.remove();
    assertFalse(ShutdownHookManager.get().hasShutdownHook(drain));
    hook.remove();
  }
}
