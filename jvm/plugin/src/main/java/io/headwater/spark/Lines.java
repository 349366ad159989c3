package io.headwater.spark;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads and writes files with one body per line. */
final class Lines {
  private static final Logger LOG = LoggerFactory.getLogger(HeadwaterPlugin.class);

  private Lines() {}

  static byte[] write(List<Body> bodies) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    for (Body body : bodies) {
      out.writeBytes(body.line());
      out.write('\n');
    }
    return out.toByteArray();
  }

  /** Return the bodies; logs and skips invalid lines. A kill can truncate the last line, which was not acknowledged. */
  static List<Body> read(byte[] whole, Object file) {
    List<Body> bodies = new ArrayList<>();
    int begin = 0;
    for (int end = 0; end < whole.length; end++) {
      if (whole[end] == '\n') {
        read(Arrays.copyOfRange(whole, begin, end), file, bodies);
        begin = end + 1;
      }
    }
    if (begin < whole.length) {
      LOG.warn("Headwater plugin: {} ends with half a line, which a kill tore.", file);
    }
    return bodies;
  }

  private static void read(byte[] line, Object file, List<Body> bodies) {
    try {
      bodies.add(Body.read(line));
    } catch (IOException | RuntimeException damaged) {
      LOG.error("Headwater plugin: A LINEAGE EVENT IS LOST: a line of {} bytes in {} is damaged.", line.length, file);
    }
  }
}
