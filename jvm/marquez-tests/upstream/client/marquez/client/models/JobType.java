/*
 * Copyright 2018-2023 contributors to the Marquez project
 * SPDX-License-Identifier: Apache-2.0
 */

package marquez.client.models;

public enum JobType {
  BATCH,
  STREAM,
  SERVICE
}
