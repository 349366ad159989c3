package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
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
}
