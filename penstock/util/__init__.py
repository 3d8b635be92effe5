"""Odds and ends that PyFlink programs import from `pyflink.util`."""
