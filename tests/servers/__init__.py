"""Real servers for tests, started from packages and stopped when the tests are over.

    process.py     a server as a process of our own: a user without rights, a folder of its own, a free port
    postgres.py    PostgreSQL
    mariadb.py     MariaDB
    kafka.py       a Kafka broker, from the jars of Maven Central
    certificates.py   a certificate for servers with TLS
    packages.py    programs of Debian's packages, unpacked below a cache folder, without root
    redis.py       Redis
    rabbitmq.py    RabbitMQ
    s3.py          an S3-compatible server, moto's
    flink.py       Flink's own SQL client, which is no server but comes the same way
    elasticsearch.py, http_service.py     small servers of our own that speak the same language

A server is never the machine's own service. Where its programs are missing, tests that need it are skipped and say
what to install; with CI=true they are installed, and a server that does not start fails the tests. Fixtures are in
`tests/conftest.py`, one start per test run.
"""
