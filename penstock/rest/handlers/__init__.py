"""One file per area of the interface. Handlers are thin: read parameters, ask a view or a job, answer."""
