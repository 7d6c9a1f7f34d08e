"""Who answers a chat request."""
