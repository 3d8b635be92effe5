"""Stateful operators, and parts of them, that work on Arrow columns: nobody has to look at their rows one by one."""
