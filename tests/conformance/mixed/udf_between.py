# Python functions in the query between two streams: a scalar function, a vectorized one, a table function, a filter
from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import DataTypes, StreamTableEnvironment
from pyflink.table.udf import ScalarFunction, udf, udtf

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)


class Salted(ScalarFunction):
    """Has what the constructor gave it and what open() made."""

    def __init__(self, salt):
        self.salt = salt

    def open(self, function_context):
        self.prefix = "<%s>" % self.salt

    def eval(self, text):
        return None if text is None else self.prefix + text[::-1]


@udf(result_type=DataTypes.BIGINT(), func_type="pandas")
def plus_one(numbers):
    return numbers + 1


@udtf(result_types=[DataTypes.STRING(), DataTypes.INT()])
def words(text):
    for word in (text or "").split():
        yield word, len(word)


t_env.create_temporary_system_function("salted", udf(Salted("s"), result_type=DataTypes.STRING()))
t_env.create_temporary_system_function("plus_one", plus_one)
t_env.create_temporary_system_function("words", words)

ds = env.from_collection(
    [Row(1, "a bc"), Row(2, None), Row(3, "def"), Row(4, "")],
    type_info=Types.ROW_NAMED(["id", "text"], [Types.LONG(), Types.STRING()]),
)
t_env.create_temporary_view("texts", ds)


def print_stream(label, sql):
    stream = t_env.to_data_stream(t_env.sql_query(sql))
    for line in stream.map(lambda r: "%s" % list(r), Types.STRING()).execute_and_collect():
        print(label, line)


print_stream("scalar", "SELECT id, salted(text) AS salted FROM texts")
print_stream("pandas", "SELECT plus_one(id) AS more, text FROM texts WHERE plus_one(id) > 2")
print_stream("table", "SELECT id, w, n FROM texts, LATERAL TABLE(words(text)) AS t (w, n)")
print_stream(
    "left", "SELECT id, salted(w) AS w FROM texts LEFT JOIN LATERAL TABLE(words(text)) AS t (w, n) ON TRUE"
)
