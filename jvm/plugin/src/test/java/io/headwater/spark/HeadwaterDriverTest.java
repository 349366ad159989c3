package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.headwater.testing.LocalSpark;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the plugin as Spark loads it, in consecutive sessions of one process. */
@Timeout(300)
class HeadwaterDriverTest {
  @TempDir Path folder;
  private final HttpClient client = HttpClient.newHttpClient();
  private SparkContext context;

  @AfterEach
  void stop() {
    if (context != null) {
      context.stop();
    }
  }

  @Test
  void whatOneSessionLeavesTheNextTakesAtTheSameAddressWithoutCredentials() throws Exception {
    start();
    String first = url();
    String firstId = context.applicationId();
    assertEquals(first, context.conf().get(ListenerAddress.URL), "the listener is sent here");
    assertEquals(202, post("/any?code=SECRET", "left"));
    context.stop();
    assertEquals(503, ask("GET", first + "/health", ""), "between sessions");
    List<Batch> left = new LakeFolder(table(), new Configuration()).left();
    assertEquals(List.of("left"), Made.texts(left.get(0).bodies()));

    start();
    assertEquals(first, url());
    assertNotEquals(firstId, context.applicationId());
    assertEquals(202, post("/any", "own"));
    assertEquals(200, post("/flush", ""));
    assertEquals(List.of(), new LakeFolder(table(), new Configuration()).left());
    String rows = SparkSession.builder().getOrCreate().read().format("delta").load(table()).toJSON().collectAsList().toString();
    assertTrue(rows.contains(firstId) && rows.contains(context.applicationId()), rows);
    assertFalse(rows.contains("SECRET"), rows);
    assertTrue(rows.contains("\"x-batch\":\"7\""), rows);
  }

  @ParameterizedTest
  @CsvSource({"bufferBytes,much,Give a size", "port,70000,Give a port", "table,' ',Give the table"})
  void aWrongSettingIsSaidAndHarmsNoJob(String name, String value, String fix) throws Exception {
    List<String> said = Made.logged(() -> start(name, value));
    String line = said.stream().filter(each -> each.contains("NO LINEAGE IS TAKEN")).findFirst().orElse(said.toString());
    assertTrue(line.contains(PluginSettings.PREFIX + name) && line.contains(fix), line);
    assertFalse(context.conf().contains(HeadwaterDriver.URL));
    assertFalse(context.conf().contains(ListenerAddress.URL), "no listener is sent where nobody listens");
    assertEquals(3, new JavaSparkContext(context).parallelize(List.of(1, 2, 3)).count());
    assertEquals(false, new HeadwaterDriver().receive(Made.body("of an executor").line()));
  }

  @Test
  void aPortThatIsTakenIsSaidAndTheNextSessionHasItOnceItIsFree() throws Exception {
    int port;
    try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = other.getLocalPort();
      List<String> said = Made.logged(() -> start("port", String.valueOf(port)));
      assertTrue(said.stream().anyMatch(each -> each.contains("port " + port + " cannot be had: Address already in use")), said.toString());
      assertFalse(context.conf().contains(HeadwaterDriver.URL));
      assertEquals(3, new JavaSparkContext(context).parallelize(List.of(1, 2, 3)).count());
      context.stop();
    }
    start("port", String.valueOf(port));
    assertEquals("http://127.0.0.1:" + port, url());
    assertEquals(202, post("/", "one"));
  }

  @Test
  void anotherPortMovesTheEndpointAndTheOldOneIsGivenBack() throws Exception {
    start();
    String before = url();
    context.stop();
    int port;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    start("port", String.valueOf(port));
    assertEquals("http://127.0.0.1:" + port, url());
    assertThrows(IOException.class, () -> ask("GET", before + "/health", ""));
  }

  @Test
  void aTransportThatIsConfiguredIsLeftAlone() throws Exception {
    start("table", table(), ListenerAddress.URL, "http://headwater:5000");
    assertEquals("http://headwater:5000", context.conf().get(ListenerAddress.URL));
    assertEquals(202, post("/", "one"));
  }

  /** Start a session; more: setting names, with or without the prefix, and values. */
  private void start(String... more) {
    List<String> settings = new ArrayList<>(List.of("spark.plugins", HeadwaterPlugin.class.getName()));
    settings.addAll(List.of(PluginSettings.PREFIX + "table", table()));
    settings.addAll(List.of(PluginSettings.PREFIX + "spillDir", folder.resolve("spill").toString()));
    for (int each = 0; each < more.length; each += 2) {
      settings.add(more[each].startsWith("spark.") ? more[each] : PluginSettings.PREFIX + more[each]);
      settings.add(more[each + 1]);
    }
    context = new SparkContext(LocalSpark.conf("nightly", settings.toArray(new String[0])));
  }

  private String table() {
    return folder.resolve("lineage").toString();
  }

  private String url() {
    return context.conf().get(HeadwaterDriver.URL);
  }

  private int post(String path, String text) throws Exception {
    return ask("POST", url() + path, text);
  }

  private int ask(String method, String url, String text) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url))
            .header("Authorization", "Bearer SECRET")
            .header("x-functions-key", "SECRET")
            .header("X-Batch", "7")
            .method(method, BodyPublishers.ofString(text))
            .build();
    return client.send(request, BodyHandlers.discarding()).statusCode();
  }
}
