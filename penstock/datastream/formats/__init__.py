"""Formats of files and messages under PyFlink's module names."""
