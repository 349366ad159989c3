package marquez;

/** Names the application that the tests were written for. */
public final class MarquezApp {}
