package io.headwater.spark;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/** Selects the request headers to store: all except those whose name indicates a credential. */
final class KeptHeaders {
  private static final Pattern CREDENTIAL =
      Pattern.compile("auth|key|token|secret|passw|credential|cookie|signature|session|jwt|saml|client-cert|x-ms-client-principal");

  private KeptHeaders() {}

  /** Return the headers by lower-case name; repeated values are joined with a comma. */
  static Map<String, String> of(Map<String, List<String>> headers) {
    Map<String, String> kept = new TreeMap<>();
    headers.forEach(
        (name, values) -> {
          String lower = name.toLowerCase(Locale.ROOT);
          if (!CREDENTIAL.matcher(lower).find()) {
            kept.put(lower, String.join(", ", values));
          }
        });
    return kept;
  }
}
