"""Questions for agents over the Model Context Protocol (`headwater mcp`)."""
