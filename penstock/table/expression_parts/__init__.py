"""What an `Expression` of the Table API is made of.

nodes         the tree: columns, literals, calls by Flink's names; it knows no table and no types
base          operators, and how a call is made of what a program passes
numbers, logic, texts, times, collections, aggregates, documents, bitmaps
              the methods of `Expression`, by subject
"""
