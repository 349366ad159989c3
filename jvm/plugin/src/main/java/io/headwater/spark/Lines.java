package io.headwater.spark;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A file of bodies, line by line. */
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

  /** Return the bodies; a line that is none is said and passed over: a kill tears the last one, which nobody was told of. */
  static List<Body> read(byte[] whole, Object file) {
    List<Body> bodies = new ArrayList<>();
    int begin = 0;
    for (int end = 0; end < whole.length; end++) {
      if (whole[end] == '\n' || end == whole.length - 1) {
        byte[] line = Arrays.copyOfRange(whole, begin, whole[end] == '\n' ? end : end + 1);
        begin = end + 1;
        try {
          bodies.add(Body.read(line));
        } catch (IOException | RuntimeException torn) {
          LOG.warn("Headwater plugin: a line of {} bytes in {} is no body and is passed over.", line.length, file);
        }
      }
    }
    return bodies;
  }
}
