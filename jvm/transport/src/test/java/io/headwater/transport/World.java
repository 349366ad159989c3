package io.headwater.transport;

import io.headwater.testing.TroubledFileSystem;
import io.headwater.testing.TroubledFileSystem.Trouble;
import io.openlineage.client.OpenLineage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;

/** A local store with faults, a Spark application, an adjustable clock, and the files that were written. */
final class World extends Clock implements Application {
  static final OpenLineage EVENTS = new OpenLineage(URI.create("https://example.org/producer"));

  final Trouble trouble = new Trouble();
  final Path root;
  final OneLakeTransportConfig config = new OneLakeTransportConfig();
  volatile Instant now = Instant.parse("2026-03-01T23:59:59.500Z");
  volatile boolean started = true;
  volatile boolean ending;
  volatile String namespace;
  private final Configuration configuration = new Configuration();

  World(Path root) {
    this.root = root;
    String name = UUID.randomUUID().toString();
    TroubledFileSystem.trouble(name, trouble);
    configuration.set("fs.troubled.impl", TroubledFileSystem.class.getName());
    config.closeTimeoutSeconds = 100; // long enough for a busy machine
    config.location = TroubledFileSystem.SCHEME + "://" + name + root.toUri().getPath();
  }

  Store store() {
    return new Store(Destination.of(config), this);
  }

  OneLakeTransport transport() {
    return new OneLakeTransport(config, this, this);
  }

  /** Return the complete files, sorted by name. */
  List<Path> files() {
    return all().stream().filter(each -> !each.getFileName().toString().startsWith(".")).collect(Collectors.toList());
  }

  /** Return all files, including incomplete ones. */
  List<Path> all() {
    try (Stream<Path> found = Files.walk(root)) {
      return found.filter(Files::isRegularFile).sorted().collect(Collectors.toList());
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** Return the written lines, file by file. */
  List<String> lines() {
    List<String> lines = new ArrayList<>();
    for (Path file : files()) {
      try {
        lines.addAll(Files.readAllLines(file));
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }
    return lines;
  }

  static OpenLineage.RunEvent event(int number) {
    return EVENTS
        .newRunEventBuilder()
        .eventType(OpenLineage.RunEvent.EventType.START)
        .eventTime(ZonedDateTime.of(2026, 3, 1, 0, 0, 0, 0, ZoneOffset.UTC))
        .run(EVENTS.newRunBuilder().runId(new UUID(7, number)).build())
        .job(EVENTS.newJobBuilder().namespace("shop").name("job " + number + "\nnext").build())
        .build();
  }

  /** Return an event with a facet that cannot be serialized as JSON. */
  static OpenLineage.RunEvent unserialisable(RuntimeException reason) {
    OpenLineage.RunFacet facet =
        new OpenLineage.DefaultRunFacet(URI.create("https://example.org/producer")) {
          @Override
          public Map<String, Object> getAdditionalProperties() {
            throw reason;
          }
        };
    return EVENTS
        .newRunEventBuilder()
        .run(EVENTS.newRunBuilder().runId(new UUID(7, 0)).facets(EVENTS.newRunFacetsBuilder().put("it", facet).build()).build())
        .build();
  }

  /** Return the lines that were logged while the work ran. */
  static List<String> logged(Runnable work) {
    PrintStream before = System.err;
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    System.setErr(new PrintStream(said, true, StandardCharsets.UTF_8));
    try {
      work.run();
    } finally {
      System.setErr(before);
    }
    return said.toString(StandardCharsets.UTF_8).lines().collect(Collectors.toList());
  }

  @Override
  public Configuration configuration() {
    return configuration;
  }

  @Override
  public boolean isStarted() {
    return started;
  }

  @Override
  public boolean isEnding() {
    return ending;
  }

  @Override
  public String id() {
    return "local-1";
  }

  @Override
  public String name() {
    return "nightly";
  }

  @Override
  public String namespace() {
    return namespace;
  }

  @Override
  public Instant instant() {
    return now;
  }

  @Override
  public ZoneId getZone() {
    return ZoneOffset.UTC;
  }

  @Override
  public Clock withZone(ZoneId zone) {
    return this;
  }
}
