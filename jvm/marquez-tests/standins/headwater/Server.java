package headwater;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;

/** The server under test. The test runner starts an empty one on demand. */
public final class Server {
  private static final HttpClient HTTP = HttpClient.newHttpClient();
  private static int port;

  public static int port() {
    if (port == 0) {
      startEmpty();
    }
    return port;
  }

  /** Request an empty server; Marquez's tests would empty their database instead. */
  public static void startEmpty() {
    port = Integer.parseInt(ask(HttpRequest.newBuilder(URI.create(System.getProperty("control"))).GET().build()).body().trim());
  }

  /** Send an event as a producer does; Marquez's tests would write to their database instead. */
  public static void send(String event) {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://localhost:" + port() + "/api/v1/lineage"))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(event))
            .build();
    HttpResponse<String> answer = ask(request);
    if (answer.statusCode() >= 300) {
      throw new AssertionError(answer.body());
    }
  }

  private static HttpResponse<String> ask(HttpRequest request) {
    try {
      return HTTP.send(request, BodyHandlers.ofString());
    } catch (Exception error) {
      throw new AssertionError(error);
    }
  }
}
