"""From trees of the Table API to the algebra that SQL is bound to.

context      errors name the line of the program
functions    Flink's names of functions, and the registry's
binder       a tree becomes a typed expression, with the means of SQL's binder
columns      `*`, ranges, flattened rows; how columns without a name are called
projecting   select: grouping, windows, OVER, the columns that come out
"""
