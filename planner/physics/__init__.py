"""Physics: pure functions of numbers, one equation each, in SI units. Nothing here knows the optimisation model."""
