"""Documents and their fingerprints in an Elasticsearch index, through the official client."""

from es_simhash.stores.elasticsearch.store import AsyncElasticsearchStore, ElasticsearchStore

__all__ = ["AsyncElasticsearchStore", "ElasticsearchStore"]
