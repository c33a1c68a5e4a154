"""The Elasticsearch and OpenSearch store: documents and their fingerprints in an index.

- ``calls`` has the vocabulary: a Call (an HTTP request), the Steps of a request, the Index, and the Dialect, which
  holds what differs between servers with this protocol.
- ``handlers`` has the table of the handlers of all requests, and names the modules that have them. A handler is a
  generator: it yields Calls and receives the bodies of the responses. No handler imports a client.
- ``failures`` has the table of failures that pass, and ``responses`` makes errors of the bodies of responses.
- ``client`` is the only module that imports the client of Elasticsearch, and ``opensearch`` that of OpenSearch. Each
  has the Dialect of its server. ``client_errors`` and ``products`` have the errors that both raise.
- ``store`` has the sync and the async store, which perform the Calls.
"""
