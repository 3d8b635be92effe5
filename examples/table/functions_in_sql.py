"""A function that the program brings along in a file: SQL names it, and workers find it."""

import pathlib
import sys
import tempfile

from penstock.table import EnvironmentSettings, TableEnvironment

folder = pathlib.Path(tempfile.mkdtemp())
(folder / "my_functions.py").write_text(
    "from penstock.table import DataTypes\n"
    "from penstock.table.udf import udf\n"
    "@udf(result_type=DataTypes.BIGINT())\n"
    "def twice(n):\n"
    "    return 2 * n\n"
)
t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
sys.path.append(str(folder))  # CREATE FUNCTION imports it here, to know its types
t_env.add_python_file(str(folder / "my_functions.py"))  # or -pyfs, or 'python.files'
t_env.execute_sql("CREATE TEMPORARY FUNCTION twice AS 'my_functions.twice' LANGUAGE PYTHON")
print("user functions:", t_env.list_user_defined_functions())
for row in t_env.sql_query("SELECT n, twice(n) FROM (VALUES (3), (4)) AS t (n)").execute().collect():
    print(*row)
