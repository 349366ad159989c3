package io.headwater.transport;

import java.net.URI;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.Path;

/** Determines the target folder from the settings: {@code Files/{folder}} of a lakehouse, or a folder of another store. */
final class Destination {
  private static final Pattern GUID = Pattern.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}");
  private static final Pattern IN_AN_ADDRESS = Pattern.compile("[A-Za-z0-9._~-]+");
  private static final String ONELAKE = "abfss://%s@onelake.dfs.fabric.microsoft.com/%s/Files";

  private Destination() {}

  /** Return the folder that contains {@code dt=yyyy-MM-dd}; throws IllegalArgumentException with the reason. */
  static Path of(OneLakeTransportConfig config) {
    boolean lakehouse = config.workspace != null || config.lakehouse != null;
    if (lakehouse && config.location != null) {
      throw refused("both location and a lakehouse are given. Give workspace and lakehouse, or location.");
    }
    if (!lakehouse && config.location == null) {
      throw refused("it is not said where to write. Give workspace and lakehouse, or location (abfss://, s3a://, file://).");
    }
    return new Path(lakehouse ? lakehouse(config.workspace, config.lakehouse) : location(config.location), folder(config));
  }

  private static Path lakehouse(String workspace, String lakehouse) {
    if (workspace == null || lakehouse == null) {
      throw refused("of workspace and lakehouse only one is given. Give both.");
    }
    if (GUID.matcher(workspace).matches() != GUID.matcher(lakehouse).matches()) {
      throw refused(
          "workspace is " + workspace + ", lakehouse is " + lakehouse + ": one is a name and one a GUID, which OneLake does not"
              + " resolve. Give two names (Sales, Shop.Lakehouse) or two GUIDs.");
    }
    if (!GUID.matcher(workspace).matches()) {
      requireNames(workspace, lakehouse);
    }
    return new Path(String.format(ONELAKE, workspace, lakehouse));
  }

  private static void requireNames(String workspace, String lakehouse) {
    if (!IN_AN_ADDRESS.matcher(workspace).matches()) {
      throw refused(
          "the workspace's name " + workspace + " cannot stand in an address. Give the GUIDs of workspace and lakehouse.");
    }
    if (!lakehouse.endsWith(".Lakehouse") || lakehouse.contains("/")) {
      throw refused("lakehouse is " + lakehouse + ". A name ends in .Lakehouse: Shop.Lakehouse.");
    }
  }

  private static Path location(String location) {
    URI address;
    try {
      address = new Path(location).toUri();
    } catch (IllegalArgumentException error) {
      throw refused("location is " + location + ", which is no address: " + error.getMessage() + ".");
    }
    if (address.getScheme() == null) {
      throw refused("location is " + location + ", without a scheme. Write it whole: abfss://, s3a://, hdfs://, file://.");
    }
    return new Path(address);
  }

  private static Path folder(OneLakeTransportConfig config) {
    String folder = config.folder == null ? "lineage" : config.folder;
    for (String part : folder.split("/", -1)) {
      if (part.isBlank() || part.equals(".") || part.equals("..") || part.contains(":")) {
        throw refused("folder is " + folder + ". Give a folder below Files, such as lineage or team/lineage.");
      }
    }
    return new Path(folder);
  }

  private static IllegalArgumentException refused(String reason) {
    return new IllegalArgumentException("OneLake transport: " + reason);
  }
}
