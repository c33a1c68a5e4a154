"""A real Elasticsearch for the tests, without Docker."""
