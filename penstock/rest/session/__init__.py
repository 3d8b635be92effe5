"""A session: one driver that holds the Spark application and the REST server, and takes programs.

    the session's process           a program's process, one for each
    ─────────────────────           ─────────────────────────────────
    JVM, Spark application  ◀─────  a client of the same JVM (runtime/spark/attach.py)
    REST server                     coordinators of its jobs
    programs.py  ── Unix socket ──  agent.py: tells of jobs, answers reads, is steered

A program that fails, leaks or is killed takes nobody else along. The socket lies in a folder that only its owner can
enter, and carries JSON: nothing that arrives is unpickled. What runs is on disk (`store.py`), so a session that is
started again starts its programs again, and those with a checkpoint directory go on from their newest checkpoint.
"""
