"""Who keeps documents? The protocol that every store fulfils, its values, and the store in memory."""
