"""A price that falls, rises, falls to about the same bottom and rises again, found by MATCH_RECOGNIZE."""

from penstock.common import Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.table import Schema, StreamTableEnvironment

PRICES = [20, 17, 12, 15, 18, 14, 12, 16, 19, 21, 20]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    ticks = env.from_collection(
        [Row("ACME", price, second) for second, price in enumerate(PRICES)],
        type_info=Types.ROW_NAMED(["symbol", "price", "second"], [Types.STRING(), Types.INT(), Types.LONG()]),
    )
    schema = (
        Schema.new_builder()
        .column_by_expression("at_time", "TO_TIMESTAMP_LTZ(`second`, 0)")
        .watermark("at_time", "at_time - INTERVAL '1' SECOND")
        .build()
    )
    t_env.create_temporary_view("ticks", ticks, schema)
    # The first row of DOWN is compared with the row before it, the others with the one before in DOWN.
    bottoms = t_env.sql_query("""
        SELECT * FROM ticks MATCH_RECOGNIZE (
            PARTITION BY symbol
            ORDER BY at_time
            MEASURES STRT.price AS top, LAST(DOWN.price) AS bottom, LAST(UP.price) AS middle,
                     LAST(DOWN2.price) AS second_bottom, UP2.price AS recovered
            ONE ROW PER MATCH
            AFTER MATCH SKIP PAST LAST ROW
            PATTERN (STRT DOWN+ UP+ DOWN2+ UP2)
            DEFINE
                DOWN AS DOWN.price < COALESCE(LAST(DOWN.price, 1), STRT.price),
                UP AS UP.price > COALESCE(LAST(UP.price, 1), LAST(DOWN.price)),
                DOWN2 AS DOWN2.price < COALESCE(LAST(DOWN2.price, 1), LAST(UP.price)),
                UP2 AS UP2.price > LAST(DOWN2.price) AND ABS(LAST(DOWN2.price) - LAST(DOWN.price)) <= 1
        )
    """)
    for row in bottoms.execute().collect():
        print(*row)


if __name__ == "__main__":
    main()
