"""Where fingerprints are kept and looked up: SQLite and Elasticsearch, both performing the requests of ``ops``."""
