"""What a candidate wrote, read as call expressions without ever running them."""
