package io.dropwizard.testing;

/** Returns no files, because Marquez's configuration is not needed. */
public final class ResourceHelpers {
  public static String resourceFilePath(String name) {
    return name;
  }
}
