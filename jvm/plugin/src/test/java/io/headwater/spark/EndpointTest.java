package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EndpointTest {
  private static final int LIMIT = 100_000;

  static {
    System.setProperty("sun.net.httpserver.maxReqTime", "1"); // must be set before the first endpoint sets 20
  }

  private final List<Body> taken = new CopyOnWriteArrayList<>();
  private final HttpClient client = HttpClient.newHttpClient();
  private volatile RuntimeException failure;
  private Endpoint endpoint;

  @BeforeEach
  void listen() throws IOException {
    endpoint = new Endpoint(0, LIMIT, new Taking());
  }

  @AfterEach
  void close() {
    endpoint.close();
  }

  @Test
  void aBodyOnAnyRouteIsTakenAsItIsWithoutItsQuery() throws Exception {
    byte[] bytes = {0, 31, -117, 10};
    HttpResponse<String> answer =
        client.send(
            request("/any/route?code=SECRET").header("Authorization", "SECRET").header("X-Batch", "7")
                .POST(BodyPublishers.ofByteArray(bytes)).build(),
            BodyHandlers.ofString());
    assertEquals(202, answer.statusCode());
    Body body = taken.get(0);
    assertArrayEquals(bytes, body.bytes);
    assertEquals("/any/route", body.path);
    assertEquals("7", body.headers.get("x-batch"));
    assertTrue(!body.headers.toString().contains("SECRET"), body.headers.toString());
  }

  @Test
  void aBodyInChunksIsTakenUpToTheLimit() throws Exception {
    assertEquals(202, chunked(LIMIT));
    assertEquals(LIMIT, taken.get(0).bytes.length);
    assertEquals(413, chunked(LIMIT + 1));
    assertEquals(1, taken.size());
  }

  @Test
  void aBodyThatIsDeclaredTooLargeIsNotReadAtAll() throws Exception {
    try (Socket socket = socket()) {
      send(socket, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999999\r\n\r\n");
      assertTrue(firstLine(socket).contains(" 413 "));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET", "PUT", "DELETE", "OPTIONS", "HEAD"})
  void anyOtherMethodIsRefused(String method) throws Exception {
    HttpResponse<String> answer =
        client.send(request("/api/v1/lineage").method(method, BodyPublishers.noBody()).build(), BodyHandlers.ofString());
    assertEquals(405, answer.statusCode());
    assertEquals("POST", answer.headers().firstValue("Allow").orElse(""));
  }

  @Test
  void aFlushSaysHowLongToWaitForListeners() throws Exception {
    assertEquals("{\"bodies\":0,\"millis\":600000}", post("/flush").body());
    assertEquals("{\"bodies\":0,\"millis\":1500}", post("/flush?timeout_s=1.5").body());
    for (String wrong : List.of("timeout_s=-1", "timeout_s=soon", "timeout_s=NaN", "timeout=1")) {
      HttpResponse<String> answer = post("/flush?" + wrong);
      assertEquals(400, answer.statusCode(), wrong);
      assertTrue(answer.body().contains("timeout_s=SECONDS"), answer.body());
    }
  }

  @Test
  void healthAndFlushAreOurs() throws Exception {
    assertEquals("{\"is\":\"well\"}", get("/health"));
    assertEquals(200, post("/flush").statusCode());
    assertEquals(List.of(), taken);
  }

  @Test
  void whatFailsBehindItIsA503ThatSaysWhen() throws Exception {
    failure = new IllegalStateException("no room");
    HttpResponse<String> answer = client.send(request("/").POST(BodyPublishers.ofString("x")).build(), BodyHandlers.ofString());
    assertEquals(503, answer.statusCode());
    assertEquals("5", answer.headers().firstValue("Retry-After").orElse(""));
  }

  @Test
  void clientsThatNeverFinishAreSentAway() throws Exception {
    List<Socket> slow = new ArrayList<>();
    for (int each = 0; each < 30; each++) {
      Socket socket = socket();
      slow.add(socket);
      send(socket, each % 2 == 0 ? "POST / HTTP/1.1\r\nHost: x\r\n" : "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx");
    }
    assertEquals("{\"is\":\"well\"}", get("/health"));
    for (Socket each : slow) {
      each.close();
    }
    assertEquals(List.of(), taken);
  }

  @Test
  void aPortThatIsTakenIsSaid() {
    assertThrows(IOException.class, () -> new Endpoint(endpoint.port(), LIMIT, Desk.NOBODY));
  }

  @Test
  void betweenSessionsItAnswersThatThereIsNone() throws Exception {
    endpoint.serve(Desk.NOBODY);
    assertTrue(get("/health").contains("No Spark session"));
    endpoint.serve(new Taking());
    assertEquals("{\"is\":\"well\"}", get("/health"));
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create(endpoint.url() + path)).version(HttpClient.Version.HTTP_1_1);
  }

  private String get(String path) throws Exception {
    return client.send(request(path).GET().build(), BodyHandlers.ofString()).body();
  }

  private int chunked(int size) throws Exception {
    HttpRequest request =
        request("/").POST(BodyPublishers.fromPublisher(BodyPublishers.ofByteArray(new byte[size]))).build();
    return client.send(request, BodyHandlers.ofString()).statusCode();
  }

  private Socket socket() throws IOException {
    return new Socket("127.0.0.1", endpoint.port());
  }

  private static void send(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
    socket.getOutputStream().flush();
  }

  private static String firstLine(Socket socket) throws IOException {
    StringBuilder line = new StringBuilder();
    for (int one = socket.getInputStream().read(); one != '\r' && one >= 0; one = socket.getInputStream().read()) {
      line.append((char) one);
    }
    return line.toString();
  }

  private HttpResponse<String> post(String path) throws Exception {
    return client.send(request(path).POST(BodyPublishers.noBody()).build(), BodyHandlers.ofString());
  }

  private final class Taking implements Desk {
    @Override
    public Answer take(String method, String path, Map<String, String> headers, Instant receivedAt, byte[] bytes) {
      if (failure != null) {
        throw failure;
      }
      Body body = new Body(Made.NIGHTLY, "driver", method, path, headers, receivedAt, bytes);
      taken.add(body);
      return Answer.taken(body.id);
    }

    @Override
    public Answer flush(long listenerMillis) {
      return Answer.of(Answer.object().put("bodies", 0).put("millis", listenerMillis));
    }

    @Override
    public Answer health() {
      return Answer.of(Answer.object().put("is", "well"));
    }
  }
}
