"""What an encoder gains when it leaves for the hub: a complete card, a graph."""
