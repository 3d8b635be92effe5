"""What runs: a non-deterministic automaton over events, and what it must remember for one key.

    compiler.py     a pattern becomes states and transitions
    states.py       states, transitions, and the automaton as data
    predicates.py   conditions of transitions as fast closures, each simple one tried once per event
    choices.py      states ready to run: what an event can do at one
    nfa.py          one event, or the passing of time, moves all partial matches
    match_state.py  what is remembered for a key: partial matches, matches that wait, the shared buffer
    buffer.py       events that partial matches have taken, stored once, with versioned links between them
    taken.py        what a partial match has taken, for conditions that ask
    found.py        matches, which can say why they are ones
    dewey.py        versions, which tell apart the paths of partial matches through the shared buffer
    heap.py         the order in which partial matches are visited and matches leave

The idea is that of SASE ("Efficient Pattern Matching over Event Streams"): partial matches that share a prefix share
its events. Which match comes first where several end with one event, and which survives a skip strategy, follows
from the order in which Flink keeps them; `heap.py` keeps the same order.
"""
