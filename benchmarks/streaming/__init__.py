"""Input and queries of benchmarks/streaming_sql.py."""
