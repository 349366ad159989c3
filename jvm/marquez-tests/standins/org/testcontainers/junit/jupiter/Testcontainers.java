package org.testcontainers.junit.jupiter;

/** Does nothing, because the tests need no containers. */
public @interface Testcontainers {}
