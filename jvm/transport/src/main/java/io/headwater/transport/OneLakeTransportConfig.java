package io.headwater.transport;

import io.openlineage.client.MergeConfig;
import io.openlineage.client.transports.TransportConfig;

/**
 * The settings {@code spark.openlineage.transport.*} as they were given; what was not given is null.
 *
 * <p>Public fields, because the listener's JSON library fills it, which each listener ships under a name of its own. What the
 * settings mean, and what is refused, is in {@link Destination} and {@link Limits}.
 */
public final class OneLakeTransportConfig implements TransportConfig, MergeConfig<OneLakeTransportConfig> {
  public String workspace;
  public String lakehouse;
  public String location;
  public String folder;
  public Integer batchSize;
  public Integer flushIntervalSeconds;
  public Integer queueCapacity;
  public Integer queueBytes;
  public Integer closeTimeoutSeconds;

  /** Return these settings, replaced where the other ones were given: a file's by the session's. */
  @Override
  public OneLakeTransportConfig mergeWithNonNull(OneLakeTransportConfig other) {
    OneLakeTransportConfig merged = new OneLakeTransportConfig();
    merged.workspace = mergePropertyWith(workspace, other.workspace);
    merged.lakehouse = mergePropertyWith(lakehouse, other.lakehouse);
    merged.location = mergePropertyWith(location, other.location);
    merged.folder = mergePropertyWith(folder, other.folder);
    merged.batchSize = mergePropertyWith(batchSize, other.batchSize);
    merged.flushIntervalSeconds = mergePropertyWith(flushIntervalSeconds, other.flushIntervalSeconds);
    merged.queueCapacity = mergePropertyWith(queueCapacity, other.queueCapacity);
    merged.queueBytes = mergePropertyWith(queueBytes, other.queueBytes);
    merged.closeTimeoutSeconds = mergePropertyWith(closeTimeoutSeconds, other.closeTimeoutSeconds);
    return merged;
  }
}
