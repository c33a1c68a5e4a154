"""A real Elasticsearch for the tests, with no Docker."""
