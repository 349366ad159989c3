package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ListenerAddressTest {
  private static final String HERE = "http://127.0.0.1:1";
  private final SparkConf conf = new SparkConf(false);

  @Test
  void aListenerWithoutATransportIsSentHere() {
    assertTrue(ListenerAddress.set(conf, HERE));
    assertEquals("http", conf.get(ListenerAddress.TYPE));
    assertEquals(HERE, conf.get(ListenerAddress.URL));
  }

  @ParameterizedTest
  @ValueSource(strings = {"http", "HTTP", " http "})
  void soIsOneThatSpeaksHttpToNobody(String type) {
    conf.set(ListenerAddress.TYPE, type);
    assertTrue(ListenerAddress.set(conf, HERE));
    assertEquals("http", conf.get(ListenerAddress.TYPE), "as the listener writes it");
  }

  @ParameterizedTest
  @ValueSource(strings = {"onelake", "console", "kafka", "composite", "file"})
  void oneWithATransportOfItsOwnIsLeftAlone(String type) {
    conf.set(ListenerAddress.TYPE, type);
    assertFalse(ListenerAddress.set(conf, HERE));
    assertEquals(type, conf.get(ListenerAddress.TYPE));
    assertFalse(conf.contains(ListenerAddress.URL));
  }

  @Test
  void soIsOneWithAnAddress() {
    conf.set(ListenerAddress.URL, "http://headwater:5000");
    assertFalse(ListenerAddress.set(conf, HERE));
    assertEquals("http://headwater:5000", conf.get(ListenerAddress.URL));
    assertFalse(conf.contains(ListenerAddress.TYPE));
  }
}
