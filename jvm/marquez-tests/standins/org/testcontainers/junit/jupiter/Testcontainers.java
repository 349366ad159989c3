package org.testcontainers.junit.jupiter;

/** Starts nothing: the tests need no database of their own. */
public @interface Testcontainers {}
