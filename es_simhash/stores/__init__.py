"""How do SQLite, Elasticsearch and OpenSearch answer requests?"""
