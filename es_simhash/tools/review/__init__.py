"""What does a person check? Groups with their sizes, the words in which two texts differ, labels, and the report."""
