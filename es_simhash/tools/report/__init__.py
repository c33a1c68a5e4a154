"""What does a person check? The groups of a store, as a page, as JSON lines, or as CSV."""
