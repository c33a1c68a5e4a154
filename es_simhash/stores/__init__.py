"""How do SQLite and Elasticsearch answer requests?"""
