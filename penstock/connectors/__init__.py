"""Sources and sinks: the contracts (`source.py`, `sink.py`) and a file or folder per system."""
