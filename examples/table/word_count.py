"""How often each word comes: PyFlink's first tutorial, with a table function and a grouping."""

from penstock.table import DataTypes, EnvironmentSettings, TableEnvironment
from penstock.table.expressions import col, lit
from penstock.table.udf import udtf

LINES = ["To be, or not to be,--that is the question:--", "Whether 'tis nobler in the mind to suffer"]


@udtf(result_types=[DataTypes.STRING()])
def words(line):
    for word in line.split():
        yield word.strip(",.:;-'").lower()


t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
lines = t_env.from_elements([(line,) for line in LINES], ["line"])  # one column of text
counts = (
    lines.flat_map(words(col("line")).alias("word"))  # a row for each word
    .group_by(col("word"))
    .select(col("word"), lit(1).count.alias("n"))  # a row for each different word
    .filter(col("n") > 1)
)
for word, n in counts.execute().collect():
    print(word, n)
