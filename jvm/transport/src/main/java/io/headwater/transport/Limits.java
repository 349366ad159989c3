package io.headwater.transport;

/** Limits for the queue, the files and the waiting times. */
final class Limits {
  final int batchSize;
  final int queueCapacity;
  final int queueBytes;
  final long flushMillis;
  final long closeMillis;

  /** Read the settings and their defaults; throws IllegalArgumentException with the reason. */
  Limits(OneLakeTransportConfig config) {
    batchSize = positive("batchSize", config.batchSize, 50);
    queueCapacity = positive("queueCapacity", config.queueCapacity, 5_000);
    queueBytes = positive("queueBytes", config.queueBytes, 64 << 20);
    flushMillis = 1_000L * positive("flushIntervalSeconds", config.flushIntervalSeconds, 30);
    closeMillis = 1_000L * positive("closeTimeoutSeconds", config.closeTimeoutSeconds, 10);
    if (queueCapacity < batchSize) {
      throw new IllegalArgumentException(
          "OneLake transport: queueCapacity is " + queueCapacity + ", less than one batch (batchSize is " + batchSize
              + "). Raise queueCapacity, or lower batchSize.");
    }
  }

  private static int positive(String name, Integer given, int otherwise) {
    if (given != null && given < 1) {
      throw new IllegalArgumentException(
          "OneLake transport: " + name + " is " + given + ". Give a number from 1, or none for " + otherwise + ".");
    }
    return given == null ? otherwise : given;
  }
}
