"""The catalog of tables in a database that is reached by JDBC options."""
