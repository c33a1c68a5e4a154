"""The Elasticsearch and OpenSearch store: documents and their fingerprints in an index.

- ``store`` has the class IndexStore. Each of its methods calls a function of one of the other modules.
- ``calls`` has what these functions send: a Request (an HTTP request) on the Index; and the Dialect, which holds what
  differs between servers with this protocol.
- ``failures`` has the table of failures that pass, and ``responses`` makes errors of the bodies of responses.
- ``client`` is the only module that imports the client of Elasticsearch, and ``opensearch`` that of OpenSearch. Each
  has the Dialect of its server. ``client_errors`` and ``products`` have the errors that both raise.
"""
