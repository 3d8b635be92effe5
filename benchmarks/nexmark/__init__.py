"""Events, queries and helpers of benchmarks/nexmark.py."""
