package io.dropwizard.testing;

/** A setting of Marquez's application, which is not used here. */
public record ConfigOverride(String key, String value) {
  public static ConfigOverride config(String key, String value) {
    return new ConfigOverride(key, value);
  }
}
