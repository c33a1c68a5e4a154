"""Is a document new, or a copy of which other one? And what happens to the links of the others."""
