"""What does a store hold? Figures of documents, duplicates, groups and filters of users."""
