package org.jetbrains.annotations;

/** Says that a value is never null. */
public @interface NotNull {}
