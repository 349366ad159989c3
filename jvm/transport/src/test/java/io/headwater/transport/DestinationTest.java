package io.headwater.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DestinationTest {
  private static final String WORKSPACE = "3f2a9c1e-0000-4000-8000-00000000aa01";
  private static final String ITEM = "0B5D6A9E-1C2D-4E3F-8A9B-0C1D2E3F4A5B";

  @Test
  void aLakehouseByNames() {
    assertEquals(
        "abfss://Sales@onelake.dfs.fabric.microsoft.com/Shop.Lakehouse/Files/lineage", at("Sales", "Shop.Lakehouse", null, null));
  }

  @Test
  void aLakehouseByGuids() {
    assertEquals(
        "abfss://" + WORKSPACE + "@onelake.dfs.fabric.microsoft.com/" + ITEM + "/Files/team/lineage",
        at(WORKSPACE, ITEM, null, "team/lineage"));
  }

  @ParameterizedTest
  @CsvSource({
    "abfss://lake@account.dfs.core.windows.net/raw, abfss://lake@account.dfs.core.windows.net/raw/lineage",
    "s3a://bucket, s3a://bucket/lineage",
    "hdfs://nn:8020/lake/, hdfs://nn:8020/lake/lineage",
    "file:///tmp/lake, file:/tmp/lake/lineage",
  })
  void anyOtherStore(String location, String expected) {
    assertEquals(expected, at(null, null, location, null));
  }

  @Test
  void namesAndGuidsAreNeverMixed() {
    assertRefused("one is a name and one a GUID", "Sales", ITEM, null, null);
    assertRefused("one is a name and one a GUID", WORKSPACE, "Shop.Lakehouse", null, null);
  }

  @Test
  void aPlaceIsGivenOnceAndWhole() {
    assertRefused("it is not said where to write", null, null, null, "lineage");
    assertRefused("of workspace and lakehouse only one is given", "Sales", null, null, null);
    assertRefused("of workspace and lakehouse only one is given", null, "Shop.Lakehouse", null, null);
    assertRefused("both location and a lakehouse", "Sales", "Shop.Lakehouse", "s3a://bucket", null);
    assertRefused("without a scheme", null, null, "/tmp/lake", null);
    assertRefused("which is no address", null, null, "", null);
  }

  @Test
  void aNameThatOneLakeWouldNotTakeIsRefused() {
    assertRefused("A name ends in .Lakehouse", "Sales", "Shop", null, null);
    assertRefused("A name ends in .Lakehouse", "Sales", "Shop/x.Lakehouse", null, null);
    assertRefused("Give the GUIDs of workspace and lakehouse", "My Sales", "Shop.Lakehouse", null, null);
    assertRefused("Give the GUIDs of workspace and lakehouse", "evil@host/", "Shop.Lakehouse", null, null);
  }

  @ParameterizedTest
  @CsvSource({"/lineage", "..", "a/../../b", "a//b", "lineage/", "' '", "a:b"})
  void aFolderIsBelowFiles(String folder) {
    assertRefused("Give a folder below Files", "Sales", "Shop.Lakehouse", null, folder);
  }

  private static String at(String workspace, String lakehouse, String location, String folder) {
    OneLakeTransportConfig config = new OneLakeTransportConfig();
    config.workspace = workspace;
    config.lakehouse = lakehouse;
    config.location = location;
    config.folder = folder;
    return Destination.of(config).toString();
  }

  private static void assertRefused(String reason, String workspace, String lakehouse, String location, String folder) {
    String said =
        assertThrows(IllegalArgumentException.class, () -> at(workspace, lakehouse, location, folder)).getMessage();
    assertTrue(said.startsWith("OneLake transport: ") && said.contains(reason), said);
  }
}
