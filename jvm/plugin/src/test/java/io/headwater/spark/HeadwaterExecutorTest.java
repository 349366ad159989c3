package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.headwater.testing.LocalSpark;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkFiles;
import org.apache.spark.api.plugin.PluginContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests with Spark's folder for files. Transfers from executors to a driver are covered by the tests of complete sessions. */
@Timeout(300)
class HeadwaterExecutorTest {
  private static SparkContext context;
  private final HttpClient client = HttpClient.newHttpClient();
  private final HeadwaterExecutor executor = new HeadwaterExecutor();
  private final Told told = new Told();

  @BeforeAll
  static void start() {
    context = new SparkContext(LocalSpark.conf("nightly"));
  }

  @AfterAll
  static void stop() {
    context.stop();
  }

  @BeforeEach
  void forget() throws IOException {
    System.clearProperty(HeadwaterExecutor.PROPERTY);
    Files.deleteIfExists(file());
  }

  @AfterEach
  void end() {
    executor.shutdown();
  }

  @Test
  void itTellsJavaAndPythonWhereItListensAndForwardsWhatComes() throws Exception {
    executor.init(told.context(), Map.of());
    String url = Files.readString(file());
    assertEquals(url, System.getProperty(HeadwaterExecutor.PROPERTY));
    assertEquals(202, post(url));
    Body got = Body.read((byte[]) told.asked);
    assertEquals(List.of("app-7", "nightly", "3", "/any"), List.of(got.application.id(), got.application.name(), got.executor, got.path));
    assertEquals("7", got.headers.get("x-batch"));
    assertTrue(!got.headers.toString().contains("SECRET"), got.headers.toString());
  }

  @Test
  void twoOfOneHostDoNotMeet() throws Exception {
    executor.init(told.context(), Map.of());
    String first = Files.readString(file());
    HeadwaterExecutor other = new HeadwaterExecutor();
    other.init(told.context(), Map.of());
    assertNotEquals(first, Files.readString(file()));
    other.shutdown();
    assertEquals(202, post(first));
  }

  @Test
  void aDriverWithoutRoomOrOutOfReachIsA503() throws Exception {
    executor.init(told.context(), Map.of());
    told.answer = false;
    assertEquals(503, post(Files.readString(file())));
    told.answer = null; // the driver's plugin returns no answer
    assertEquals(503, post(Files.readString(file())));
    told.failure = new IllegalStateException("the driver is gone");
    assertEquals(503, post(Files.readString(file())));
  }

  @Test
  void afterItsEndNobodyListens() throws Exception {
    executor.init(told.context(), Map.of());
    executor.shutdown();
    assertThrows(IOException.class, () -> post(Files.readString(file())));
  }

  @Test
  void whereTheDriverIsTheOnlyExecutorItsAddressIsTold() throws Exception {
    told.id = "driver";
    told.conf.set(HeadwaterDriver.URL, "http://127.0.0.1:1");
    executor.init(told.context(), Map.of());
    assertEquals("http://127.0.0.1:1", Files.readString(file()));
    assertEquals("http://127.0.0.1:1", System.getProperty(HeadwaterExecutor.PROPERTY));
  }

  @Test
  void whereTheDriverTakesNothingNothingIsTold() {
    told.id = "driver";
    executor.init(told.context(), Map.of());
    assertTrue(Files.notExists(file()));
    assertNull(System.getProperty(HeadwaterExecutor.PROPERTY));
  }

  @Test
  void whatCannotBeToldIsSaidHarmsNothingAndNobodyListens() throws Exception {
    Files.createDirectories(file().resolve("in the way"));
    long before = listeners();
    try {
      List<String> said = Made.logged(() -> executor.init(told.context(), Map.of()));
      assertTrue(said.stream().anyMatch(each -> each.contains("NO LINEAGE IS TAKEN on this executor")), said.toString());
      assertNull(System.getProperty(HeadwaterExecutor.PROPERTY));
      assertEquals(before, listeners());
    } finally {
      Files.delete(file().resolve("in the way"));
    }
  }

  private static long listeners() {
    return Thread.getAllStackTraces().keySet().stream().filter(each -> each.getName().equals("HTTP-Dispatcher")).count();
  }

  private static Path file() {
    return Paths.get(SparkFiles.getRootDirectory(), HeadwaterExecutor.FILE);
  }

  private int post(String url) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url + "/any"))
            .header("Authorization", "Bearer SECRET")
            .header("X-Batch", "7")
            .POST(BodyPublishers.ofString("body"))
            .build();
    return client.send(request, BodyHandlers.discarding()).statusCode();
  }

  /** The context that Spark gives to the plugin of an executor; methods that the plugin does not use are not implemented. */
  private static final class Told {
    private final SparkConf conf = LocalSpark.conf("nightly", "spark.app.id", "app-7");
    private String id = "3";
    private volatile Object asked;
    private volatile Object answer = true;
    private volatile RuntimeException failure;

    PluginContext context() {
      return (PluginContext)
          Proxy.newProxyInstance(
              Told.class.getClassLoader(), new Class<?>[] {PluginContext.class}, (proxy, method, given) -> said(method.getName(), given));
    }

    private Object said(String method, Object[] given) {
      switch (method) {
        case "conf":
          return conf;
        case "executorID":
          return id;
        case "ask":
          if (failure != null) {
            throw failure;
          }
          asked = given[0];
          return answer;
        default:
          throw new UnsupportedOperationException(method);
      }
    }
  }
}
