"""The verbs, each a generator that yields requests to a store and receives the replies. No I/O here."""
