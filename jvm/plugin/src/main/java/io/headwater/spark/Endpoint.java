package io.headwater.spark;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A small HTTP server on the loopback interface. POST /flush and GET /health control the plugin; any other POST sends a body.
 *
 * <p>It limits the size of bodies, the number of parallel requests and the time to receive a request.
 */
final class Endpoint implements AutoCloseable {
  /** The same limit as that of the receiver. */
  static final int MAX_BODY_BYTES = 32 << 20;

  private static final Logger LOG = LoggerFactory.getLogger(HeadwaterPlugin.class);
  private static final int AT_ONCE = 8;
  private static final long FLUSH_MILLIS = 600_000;
  private static final double LONGEST_SECONDS = 86_400;
  private static final String SECONDS_TO_ARRIVE = "sun.net.httpserver.maxReqTime";

  static { // Java reads both properties once, for all HTTP servers of the process
    setUnlessGiven(SECONDS_TO_ARRIVE, "20");
    setUnlessGiven("sun.net.httpserver.nodelay", "true"); // avoids a delay of 40 ms per response
  }

  private final HttpServer server;
  private final ExecutorService threads;
  private final int maxBodyBytes;
  private volatile Desk desk;

  /** Start to listen; port 0 selects a free port. Throws IOException if the port is in use. */
  Endpoint(int port, int maxBodyBytes, Desk desk) throws IOException {
    this.desk = desk;
    this.maxBodyBytes = maxBodyBytes;
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
    threads = Executors.newFixedThreadPool(AT_ONCE, work -> daemon(work, "headwater-plugin-http"));
    server.setExecutor(threads);
    server.createContext("/", this::handle);
    startAsDaemon();
  }

  /** Pass further requests to another handler. */
  void serve(Desk other) {
    desk = other;
  }

  String url() {
    return "http://" + server.getAddress().getAddress().getHostAddress() + ":" + server.getAddress().getPort();
  }

  int port() {
    return server.getAddress().getPort();
  }

  /** Finish current requests within a second and stop listening. */
  @Override
  public void close() {
    threads.shutdown();
    try {
      threads.awaitTermination(1, TimeUnit.SECONDS);
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
    }
    server.stop(0);
    threads.shutdownNow();
  }

  private void handle(HttpExchange exchange) {
    try {
      answer(exchange, of(exchange));
    } catch (IOException gone) {
      LOG.debug("Headwater plugin: a client went away: {}", gone.toString());
    } catch (RuntimeException | Error error) {
      LOG.warn("Headwater plugin: a request failed: {}", error.toString());
      try {
        answer(exchange, Answer.later(error.toString()));
      } catch (IOException | RuntimeException gone) {
        LOG.debug("Headwater plugin: a client went away: {}", gone.toString());
      }
    } finally {
      exchange.close();
    }
  }

  private Answer of(HttpExchange exchange) throws IOException {
    String method = exchange.getRequestMethod();
    String path = exchange.getRequestURI().getPath(); // the query may contain a key and is not stored
    if (method.equals("GET") && path.equals("/health")) {
      return desk.health();
    }
    if (!method.equals("POST")) {
      return Answer.onlyPost();
    }
    byte[] bytes = read(exchange);
    if (bytes == null) {
      return Answer.tooLarge(maxBodyBytes);
    }
    if (path.equals("/flush")) {
      return flush(exchange.getRequestURI().getQuery());
    }
    return desk.take(method, path, KeptHeaders.of(exchange.getRequestHeaders()), Instant.now(), bytes);
  }

  /** Flush; the query {@code timeout_s=SECONDS} limits the time to wait for Spark's listeners. */
  private Answer flush(String query) {
    String prefix = "timeout_s=";
    if (query == null || query.isEmpty()) {
      return desk.flush(FLUSH_MILLIS);
    }
    try {
      double seconds = query.startsWith(prefix) ? Double.parseDouble(query.substring(prefix.length())) : Double.NaN;
      if (seconds >= 0) {
        return desk.flush((long) (Math.min(seconds, LONGEST_SECONDS) * 1_000));
      }
    } catch (NumberFormatException noNumber) {
      // rejected below
    }
    return Answer.refused("The query of /flush is not " + prefix + "SECONDS, a number from 0. Leave it out to wait 600 s.");
  }

  /** Return the body, or null if it is too large. */
  private byte[] read(HttpExchange exchange) throws IOException {
    String length = exchange.getRequestHeaders().getFirst("Content-Length");
    if (length != null && Long.parseLong(length.trim()) > maxBodyBytes) {
      return null;
    }
    try (InputStream in = exchange.getRequestBody()) {
      byte[] bytes = in.readNBytes(maxBodyBytes + 1);
      return bytes.length > maxBodyBytes ? null : bytes;
    }
  }

  private static void answer(HttpExchange exchange, Answer answer) throws IOException {
    byte[] said = answer.said.toString().getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    if (answer.header != null) {
      exchange.getResponseHeaders().set(answer.header, answer.value);
    }
    exchange.sendResponseHeaders(answer.status, said.length);
    exchange.getResponseBody().write(said);
  }

  /** Start the server from a daemon thread, because its threads inherit that; otherwise they would keep the process alive. */
  private void startAsDaemon() {
    AtomicReference<RuntimeException> failed = new AtomicReference<>();
    Thread starter =
        daemon(
            () -> {
              try {
                server.start();
              } catch (RuntimeException error) {
                failed.set(error);
              }
            },
            "headwater-plugin-start");
    starter.start();
    try {
      starter.join();
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
    }
    if (failed.get() != null) {
      throw failed.get();
    }
  }

  private static void setUnlessGiven(String property, String value) {
    if (System.getProperty(property) == null) {
      System.setProperty(property, value);
    }
  }

  private static Thread daemon(Runnable work, String name) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    return thread;
  }
}
