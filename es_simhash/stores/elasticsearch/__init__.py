"""The Elasticsearch store: documents and their fingerprints in an index, through the official client.

- ``calls`` has the vocabulary: a Call of the client, the Steps of a request, the Index, and the Dialect, which holds
  what differs between servers with this protocol.
- ``documents``, ``search``, ``scan``, ``keys_state`` and ``users`` have a handler for each request. A handler is a
  generator: it yields Calls and receives the bodies of the responses. No handler imports a client.
- ``failures`` has the table of failures that pass, and ``responses`` makes errors of the bodies of responses.
- ``client`` is the only module that imports the official client.
- ``store`` has the sync and the async store, which perform the Calls.
"""
