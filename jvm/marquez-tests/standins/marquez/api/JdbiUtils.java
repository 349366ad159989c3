package marquez.api;

import java.lang.reflect.Method;
import org.jdbi.v3.core.Jdbi;

/** Selects new random names instead of emptying a database. */
public final class JdbiUtils {
  public static void cleanDatabase(Jdbi jdbi) {
    try {
      Method setup = Class.forName("marquez.BaseIntegrationTest").getDeclaredMethod("setupAll");
      setup.setAccessible(true);
      setup.invoke(null);
    } catch (ReflectiveOperationException error) {
      throw new AssertionError(error);
    }
  }
}
