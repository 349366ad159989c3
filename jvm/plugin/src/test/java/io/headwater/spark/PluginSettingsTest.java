package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import org.apache.spark.SparkConf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PluginSettingsTest {
  @TempDir Path folder;

  @Test
  void whatIsNotGivenHasItsDefault() {
    PluginSettings settings = Made.settings(folder);
    assertEquals(0, settings.port);
    assertEquals(64L << 20, settings.bufferBytes);
    assertEquals(1L << 30, settings.spillBytes);
    assertTrue(settings.isPath());
    assertFalse(Made.settings(folder, "table", "lake.ops.lineage").isPath());
    assertEquals(2048, Made.settings(folder, "bufferBytes", "2k").bufferBytes);
    assertEquals(2048, Made.settings(folder, "spillBytes", "2048").spillBytes);
  }

  @ParameterizedTest
  @CsvSource({
    "table,' ',table is missing", "port,70000,port is 70000", "port,any,port is any", "bufferBytes,0,bufferBytes is 0",
    "bufferBytes,much,bufferBytes is much", "spillBytes,-1,spillBytes is -1"
  })
  void aWrongSettingIsRefusedWithItsNameAndValue(String name, String value, String said) {
    Exception refused = assertThrows(IllegalArgumentException.class, () -> Made.settings(folder, name, value));
    assertTrue(refused.getMessage().contains(PluginSettings.PREFIX + said), refused.getMessage());
    assertTrue(refused.getMessage().contains("Give "), refused.getMessage());
  }

  @Test
  void theListenerIsSentHereUnlessItHasATransport() {
    SparkConf none = new SparkConf(false);
    assertTrue(ListenerAddress.set(none, "http://127.0.0.1:1"));
    assertEquals("http", none.get(ListenerAddress.TYPE));
    assertEquals("http://127.0.0.1:1", none.get(ListenerAddress.URL));
    assertTrue(ListenerAddress.set(new SparkConf(false).set(ListenerAddress.TYPE, "HTTP"), "http://127.0.0.1:1"));

    SparkConf other = new SparkConf(false).set(ListenerAddress.TYPE, "onelake");
    assertFalse(ListenerAddress.set(other, "http://127.0.0.1:1"));
    assertFalse(other.contains(ListenerAddress.URL));
    SparkConf elsewhere = new SparkConf(false).set(ListenerAddress.URL, "http://headwater:5000");
    assertFalse(ListenerAddress.set(elsewhere, "http://127.0.0.1:1"));
    assertEquals("http://headwater:5000", elsewhere.get(ListenerAddress.URL));
  }
}
