package io.headwater.transport;

import io.openlineage.client.MergeConfig;
import io.openlineage.client.transports.TransportConfig;

/**
 * The settings {@code spark.openlineage.transport.*}; a missing setting is null.
 *
 * <p>The fields are public because the listener's JSON library, whose package name differs between listeners, sets them.
 * {@link Destination} and {@link Limits} define the meaning and the validation of the settings.
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

  /** Return these settings with the values that {@code other} overrides: the session's settings override those of a file. */
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
