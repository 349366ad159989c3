package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.headwater.testing.LocalSpark;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests with a local Delta table. Catalog names and executors are covered by the tests of complete sessions. */
@Timeout(300)
class DeltaLineageTableTest {
  private static SparkContext context;
  @TempDir private static Path warehouse;
  @TempDir Path folder;

  @BeforeAll
  static void start() {
    context = new SparkContext(LocalSpark.conf("nightly", "spark.sql.warehouse.dir", warehouse.toString()));
  }

  @AfterAll
  static void stop() {
    context.stop();
  }

  @Test
  void aBatchLandsOnceHoweverOftenAndWhoeverTriesIt() throws Exception {
    Batch batch = Made.batch("one", "two");
    table().append(batch);
    table().append(batch);
    table().append(Made.batch("three"));
    List<Row> rows = session().read().format("delta").load(place()).orderBy("received_at", "body").collectAsList();
    assertEquals(3, rows.size());
    Row row = rows.get(0);
    assertEquals(List.of("local-1", "nightly", "driver", "POST", "/api/v1/lineage"), List.of(row.get(1), row.get(2), row.get(3), row.get(4), row.get(5)));
    assertEquals("2026-03-01", row.getDate(9).toString(), "the day in UTC");
  }

  @Test
  void aBatchOfNothingMakesNoTable() throws Exception {
    table().append(Made.batch());
    assertTrue(Files.notExists(Path.of(place())));
  }

  @Test
  void aTableOfOtherColumnsIsLeftAsItIs() {
    session().range(3).selectExpr("id", "DATE '2026-03-01' AS dt").write().format("delta").partitionBy("dt").save(place());
    IOException refused = assertThrows(IOException.class, () -> table().append(Made.batch("one")));
    assertTrue(refused.getMessage().startsWith(place() + " cannot be written: "), refused.getMessage());
    assertEquals(List.of("id", "dt"), List.of(session().read().format("delta").load(place()).columns()));
    assertEquals(3, session().read().format("delta").load(place()).count());
  }

  @Test
  void whereNoTableCanBeItIsSaidAndTheSameBatchLandsOnceItCan() throws Exception {
    Files.writeString(Path.of(place()), "a file in the way");
    Batch batch = Made.batch("one");
    assertThrows(IOException.class, () -> table().append(batch));
    Files.delete(Path.of(place()));
    table().append(batch);
    assertEquals(1, session().read().format("delta").load(place()).count());
  }

  @Test
  void whoFlushesHasTheDescriptionOfItsJobsAsBefore() throws Exception {
    context.setLocalProperty("spark.job.description", "load");
    try {
      Files.writeString(Path.of(place()), "a file in the way");
      assertThrows(IOException.class, () -> table().append(Made.batch("one")));
      assertEquals("load", context.getLocalProperty("spark.job.description"));
    } finally {
      context.setLocalProperty("spark.job.description", null);
    }
  }

  @Test
  void aNameIsKnownByItsPlaceOnceThereIsATable() throws Exception {
    DeltaLineageTable table = new DeltaLineageTable(Made.settings(folder, "table", "lineage"), context);
    assertNull(table.location());
    table.append(Made.batch("one"));
    assertTrue(table.location().endsWith(warehouse.resolve("lineage").toString()), table.location());
    assertEquals("lineage", table.name());
    assertEquals(1, session().table("lineage").count());
  }

  private DeltaLineageTable table() {
    return new DeltaLineageTable(Made.settings(folder, "table", place()), context);
  }

  private String place() {
    return folder.resolve("lineage").toString();
  }

  private static SparkSession session() {
    return SparkSession.builder().getOrCreate();
  }
}
