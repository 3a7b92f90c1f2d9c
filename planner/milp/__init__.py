"""The optimisation model: its rules, its construction in Pyomo, and its proof by outer approximation with HiGHS."""
