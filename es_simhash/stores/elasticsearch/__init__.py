"""The Elasticsearch and OpenSearch store: documents and their fingerprints in an index.

- ``store`` has the class IndexStore. Each of its methods is a function of one of the other modules.
- ``index`` has the Index that these functions get: it sends their requests. The Dialect there holds what differs
  between servers with this protocol.
- ``failures`` has the table of failures that pass, and makes errors of the bodies of responses. ``responses`` bounds
  the responses, and names the server of one that cannot be read.
- ``client`` is the only module that imports the client of Elasticsearch, and ``opensearch`` that of OpenSearch. Each
  has the Dialect of its server. ``products`` has the errors that both raise.
"""
