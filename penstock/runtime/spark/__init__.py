"""Everything that talks to Spark: the session, the jobs of an epoch, the shuffle between stages."""
