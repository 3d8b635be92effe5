"""What the user says: steps, how they follow each other, how often they repeat, within which time.

    pattern.py      Pattern and GroupPattern, the fluent builder; a pattern is a chain from its last step to its first
    quantifier.py   how often a step may repeat, and whether events between the repetitions are allowed
    conditions.py   what an event must fulfil to be taken by a step
    skip.py         which other matches go away when a match is found

Everything that can be refused is refused here, when the call is made, with the name of the step.
"""
