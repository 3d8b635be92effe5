"""Elasticsearch and OpenSearch: documents are written through the bulk API.

    bulk.py      actions to the lines of a bulk request, and what its answer says about each of them
    index.py     which index a row goes to, also if that depends on the row
    sink.py      `ElasticsearchSink` of programs, and the sink of tables
    table.py     `'connector' = 'elasticsearch-7'` and `'opensearch'`; options.py has their options

The client is Python's own HTTP (`connectors/http/client.py`): no package is needed.
"""
