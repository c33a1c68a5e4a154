"""What does a person check? The groups of a store, as a page, or as JSON lines."""
