package org.jetbrains.annotations;

/** Marks a value that is never null. */
public @interface NotNull {}
