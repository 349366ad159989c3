package headwater;

import java.util.regex.Pattern;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Provides an empty server for tests that count all entities or use fixed names. */
public final class EmptyServers implements BeforeAllCallback, BeforeEachCallback {
  private static final Pattern COUNTS_EVERYTHING =
      Pattern.compile(
          "testFindEvent.*|testSendEventAndGetItBack|testSendJobEvent|testSendOpenLineage"
              + "|testApp_(doesNotShow|showsDeleted).*");

  @Override
  public void beforeAll(ExtensionContext context) {
    if (context.getRequiredTestClass().getSimpleName().equals("MarquezAppIntegrationTest")) {
      Server.startEmpty();
    }
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    if (COUNTS_EVERYTHING.matcher(context.getRequiredTestMethod().getName()).matches()) {
      Server.startEmpty();
    }
  }
}
