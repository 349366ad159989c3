package io.dropwizard.testing.junit5;

import headwater.Server;
import io.dropwizard.testing.ConfigOverride;

/** Replaces Marquez's application with the server under test. */
public final class DropwizardAppExtension<C> {
  public DropwizardAppExtension(Class<?> app, String path, ConfigOverride... overrides) {}

  public void before() {}

  public int getLocalPort() {
    return Server.port();
  }

  public void after() {}
}
