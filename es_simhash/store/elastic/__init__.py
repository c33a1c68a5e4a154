"""Documents and seen items in an index of Elasticsearch or OpenSearch."""
