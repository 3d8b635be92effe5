"""`penstock sql`: Flink's SQL client.

    script.py        a text → its statements, each with its place
    kinds.py         what a statement gives back: rows, a text, a job, OK
    client.py        one session: runs statements one after the other and shows what they gave
    settings.py      what follows from SET and RESET
    worker.py        the thread a statement runs in, so that Ctrl-C can end it and keep the session
    stderr_gate.py   keeps quiet what Spark's workers write while they are being ended
    engine.py        Spark, on its way up while the client is imported
    runtime_places.py   where in a statement a failing task's error comes from
    remote.py        an environment behind a SQL gateway, through gateway_calls.py
    rendering.py     rows → lines · failure.py  an error → lines · output.py  lines → the terminal
    repl.py          the prompt: history, highlighting.py, completion.py
    app.py           command line → exit code

Only `environment.py` knows how a `TableEnvironment` is made; everything else uses its public methods, so
the tests run the client with a stand-in and without Spark.
"""
