package marquez;

/** Names the configuration of that application. */
public final class MarquezConfig {}
