"""Who answers a tool call."""
