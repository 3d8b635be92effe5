"""Flink's REST interface over the jobs of a process, and what is built on it.

views/        JobStatistics -> JSON, pure
handlers/     a file per area: find the job, read parameters, call a view or steer
routes.py     every path, verb, parameter and reason why not; OpenAPI and docs come from it
dispatch.py   a request -> an answer, without HTTP
app.py        HTTP around it (starlette), server.py runs it on a thread (uvicorn), kept_answers.py spares it work
requirements.py   another parallelism for a running job
session/      one driver for many programs, each a process of its own
archive.py    finished jobs as Flink archives them, history.py serves them
"""
