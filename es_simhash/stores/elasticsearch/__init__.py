"""Documents and their fingerprints in an Elasticsearch index, through the official client."""
