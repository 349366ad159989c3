package marquez;

/** A placeholder for Marquez's application. */
public final class MarquezApp {}
