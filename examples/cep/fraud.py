"""A small payment that tries a card, then a large one within a minute: the card may be stolen."""

from penstock.cep import CEP, Pattern
from penstock.common import Duration, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment

PAYMENTS = [  # card, amount, time in ms
    ("4711", 0.5, 1_000),
    ("0815", 0.9, 2_000),
    ("4711", 20.0, 9_000),
    ("4711", 900.0, 31_000),
    ("0815", 700.0, 90_000),  # more than a minute after the small one
]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda p, _: p[2])
    row = Types.TUPLE([Types.STRING(), Types.DOUBLE(), Types.LONG()])
    payments = env.from_collection(PAYMENTS, row).assign_timestamps_and_watermarks(by_time)

    pattern = (
        Pattern.begin("small")
        .where(lambda p: p[1] < 1)
        .followed_by("large")  # other payments may come in between
        .where(lambda p: p[1] > 500)
        .within(Duration.of_minutes(1))
    )
    alerts = CEP.pattern(payments.key_by(lambda p: p[0], Types.STRING()), pattern).select(
        lambda match: f"card {match['small'][0][0]}: {match['small'][0][1]} and then {match['large'][0][1]}",
        output_type=Types.STRING(),
    )
    alerts.print()
    env.execute("fraud")


if __name__ == "__main__":
    main()
