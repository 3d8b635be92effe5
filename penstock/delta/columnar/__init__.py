"""Stateful operators that work on Arrow columns: joins whose rows nobody has to look at one by one."""
