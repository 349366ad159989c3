package marquez;

/** A placeholder for Marquez's configuration. */
public final class MarquezConfig {}
