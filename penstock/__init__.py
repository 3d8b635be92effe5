"""Apache Flink's programming model in Python, run by Apache Spark."""

__version__ = "0.1.0"


def load_ipython_extension(shell: object) -> None:
    """`%load_ext penstock` in a notebook: gives cells of SQL, `%%flink_sql`; needs `penstock[notebook]`."""
    from penstock.notebook import register

    register(shell)
