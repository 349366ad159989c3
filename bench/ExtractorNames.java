import io.openlineage.client.utils.DatasetIdentifier;
import io.openlineage.client.utils.filesystem.FilesystemDatasetUtils;
import io.openlineage.client.utils.jdbc.JdbcDatasetUtils;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Properties;

/**
 * Names datasets with the utilities of OpenLineage's client. Each line of standard input is
 * `kind TAB address TAB table`. The kind is `jdbc` or `file`; for a file, the table may be empty. Each line of standard
 * output is `namespace TAB name`, or `error TAB class of the exception`.
 */
public final class ExtractorNames {
  private ExtractorNames() {}

  public static void main(String[] arguments) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, "UTF-8");
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] cells = line.split("\t", -1);
      out.println(named(cells[0], cells[1], cells[2]));
    }
  }

  private static String named(String kind, String address, String table) {
    try {
      DatasetIdentifier found = kind.equals("jdbc") ? ofTable(address, table) : ofFile(address, table);
      return found.getNamespace() + "\t" + found.getName();
    } catch (Exception error) {
      return "error\t" + error.getClass().getSimpleName();
    }
  }

  private static DatasetIdentifier ofTable(String address, String table) {
    return JdbcDatasetUtils.getDatasetIdentifier(address, table, new Properties());
  }

  private static DatasetIdentifier ofFile(String address, String table) throws Exception {
    URI location = new URI(address);
    return table.isEmpty()
        ? FilesystemDatasetUtils.fromLocation(location)
        : FilesystemDatasetUtils.fromLocationAndName(location, table);
  }
}
