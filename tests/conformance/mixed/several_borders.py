# stream, query, stream, query, stream in one job: every border of the chain is crossed by the same records
from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)

lines = env.from_collection(["the cat and the dog", "a dog", "the end"], type_info=Types.STRING())
t_env.create_temporary_view("lines", lines.filter(lambda line: line != "a dog"))
upper = t_env.to_data_stream(t_env.sql_query("SELECT UPPER(f0) AS line, CHAR_LENGTH(f0) AS size FROM lines"))
words = upper.flat_map(
    lambda r: [Row(word, r.size) for word in r.line.split()],
    Types.ROW_NAMED(["word", "size"], [Types.STRING(), Types.INT()]),
)
t_env.create_temporary_view("words", words)
long_words = t_env.to_data_stream(
    t_env.sql_query("SELECT word, size + 1 AS size FROM words WHERE word <> 'AND'")
)
pairs = long_words.map(lambda r: (r.word.lower(), r.size), Types.TUPLE([Types.STRING(), Types.INT()]))
t_env.create_temporary_view("pairs", pairs)
final = t_env.to_data_stream(t_env.sql_query("SELECT f0 || '!' AS word, f1 FROM pairs"))
for line in final.map(lambda r: "%s %d" % (r.word, r.f1), Types.STRING()).execute_and_collect():
    print(line)
with t_env.execute_sql("SELECT COUNT(*), COUNT(DISTINCT f0) FROM pairs").collect() as rows:
    *_, last = rows
    print("count", *last)
