"""Tables, data and queries in the manner of TPC-H, for batch_sql.py; neither its data nor its texts are TPC's."""
