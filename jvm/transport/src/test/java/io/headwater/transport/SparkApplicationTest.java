package io.headwater.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.headwater.testing.LocalSpark;
import org.apache.spark.SparkContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class SparkApplicationTest {
  private final SparkApplication application = new SparkApplication();
  private SparkContext context;

  @AfterEach
  void stop() {
    if (context != null) {
      context.stop();
    }
  }

  @Test
  void withoutAContextItIsUnknownAndHadoopIsAsItIsHere() {
    assertFalse(application.isStarted());
    assertFalse(application.isEnding());
    assertEquals("unknown", application.id());
    assertEquals("unknown", application.name());
    assertNull(application.namespace());
    assertEquals("file:///", application.configuration().get("fs.defaultFS"));
  }

  @Test
  void itIsWhatItsContextSaysAlsoOnceThatHasStopped() {
    context = new SparkContext(LocalSpark.conf("nightly", "spark.openlineage.namespace", "jobs", "spark.hadoop.fs.troubled.token", "7"));
    assertTrue(application.isStarted());
    assertFalse(application.isEnding());
    assertSame(context.hadoopConfiguration(), application.configuration(), "with what a session's code sets there");

    context.stop();
    assertTrue(application.isStarted());
    assertTrue(application.isEnding());
    assertEquals(context.applicationId(), application.id());
    assertEquals("nightly", application.name());
    assertEquals("jobs", application.namespace());
    assertEquals("7", application.configuration().get("fs.troubled.token"));
  }

  @Test
  void ofOneThatNobodyLookedAtInTimeItKnowsNothing() {
    context = new SparkContext(LocalSpark.conf("nightly"));
    context.stop();
    assertFalse(application.isStarted());
    assertEquals("unknown", application.id());
  }

  @Test
  void theNextContextOfTheProcessIsAnotherApplication() {
    context = new SparkContext(LocalSpark.conf("first", "spark.openlineage.namespace", "jobs"));
    String first = application.id();
    context.stop();
    context = new SparkContext(LocalSpark.conf("second"));
    assertEquals("second", application.name());
    assertFalse(application.isEnding());
    assertFalse(first.equals(application.id()), first);
    assertNull(application.namespace());
  }
}
