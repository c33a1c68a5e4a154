"""How do SQLite, Elasticsearch and OpenSearch do it?"""
