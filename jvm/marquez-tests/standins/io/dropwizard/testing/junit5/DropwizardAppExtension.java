package io.dropwizard.testing.junit5;

import headwater.Server;
import io.dropwizard.testing.ConfigOverride;

/** Stands in for Marquez's application: it is the server that the tests run against. */
public final class DropwizardAppExtension<C> {
  public DropwizardAppExtension(Class<?> app, String path, ConfigOverride... overrides) {}

  public void before() {}

  public int getLocalPort() {
    return Server.port();
  }

  public void after() {}
}
