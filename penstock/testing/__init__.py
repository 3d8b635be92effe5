"""For tests of programs and operators: harnesses without Spark, sources that fail on cue, a clock to move."""
