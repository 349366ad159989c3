package org.testcontainers.junit.jupiter;

/** Marks a container that is not started. */
public @interface Container {}
