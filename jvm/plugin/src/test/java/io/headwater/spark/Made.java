package io.headwater.spark;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.spark.SparkConf;

/** Shared test data: bodies, settings and captured log lines. */
final class Made {
  static final Application NIGHTLY = new Application("local-1", "nightly");

  private Made() {}

  static Body body(String text) {
    return new Body(
        NIGHTLY, "driver", "POST", "/api/v1/lineage", Map.of("content-type", "application/json"),
        Instant.parse("2026-03-01T23:59:59.500Z"), text.getBytes(StandardCharsets.UTF_8));
  }

  /** Return settings for the table {@code /lake/lineage}; more: setting names without the prefix, and their values. */
  static PluginSettings settings(Path spillDir, String... more) {
    SparkConf conf = new SparkConf(false).set(PluginSettings.PREFIX + "table", "/lake/lineage");
    conf.set(PluginSettings.PREFIX + "spillDir", spillDir.resolve("spill").toString());
    for (int each = 0; each < more.length; each += 2) {
      conf.set(PluginSettings.PREFIX + more[each], more[each + 1]);
    }
    return new PluginSettings(conf);
  }

  static Batch batch(String... texts) {
    return new Few(UUID.randomUUID().toString(), Arrays.stream(texts).map(Made::body).collect(Collectors.toList()));
  }

  static List<String> texts(List<Body> bodies) {
    return bodies.stream().map(each -> new String(each.bytes, StandardCharsets.UTF_8)).collect(Collectors.toList());
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

  /** A batch in memory. */
  static final class Few implements Batch {
    private final String id;
    private final List<Body> bodies;

    Few(String id, List<Body> bodies) {
      this.id = id;
      this.bodies = bodies;
    }

    @Override
    public String id() {
      return id;
    }

    @Override
    public List<Body> bodies() {
      return bodies;
    }

    @Override
    public void discard() {}
  }
}
