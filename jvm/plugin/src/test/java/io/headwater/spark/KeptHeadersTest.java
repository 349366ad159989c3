package io.headwater.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KeptHeadersTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "Authorization", "Proxy-Authorization", "x-functions-key", "X-API-Key", "apikey", "Cookie", "Set-Cookie", "X-Auth-Token",
        "X-Amz-Security-Token", "ocp-apim-subscription-key", "X-Client-Secret", "x-ms-client-principal", "X-Password", "X-Signature"
      })
  void aCredentialIsNotKept(String name) {
    assertEquals(Map.of(), KeptHeaders.of(Map.of(name, List.of("SECRET"))));
  }

  @Test
  void allElseIsKeptByItsNameInLowerCase() {
    assertEquals(
        Map.of("content-encoding", "gzip", "x-batch", "1, 2"),
        KeptHeaders.of(Map.of("Content-Encoding", List.of("gzip"), "X-Batch", List.of("1", "2"))));
  }
}
