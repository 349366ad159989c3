package io.dropwizard.testing;

/** Resolves no file: Marquez's own configuration is not needed. */
public final class ResourceHelpers {
  public static String resourceFilePath(String name) {
    return name;
  }
}
