"""The parts of the lab: one idea a module. `tests/lab/README.md` has the map."""
