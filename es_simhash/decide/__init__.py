"""Is a document new, or a copy of which one? There is one decision, ``choose``. All verbs decide by it."""
