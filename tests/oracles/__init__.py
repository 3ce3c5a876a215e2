"""Three methods that share no code with the accountants: exact enumeration, many digits, and inversion of moments.

`brute_force` enumerates finite laws in fractions. `closed_forms` and `sampled_gaussian` compute in mpmath: formulas, and
integrals where there is no formula. `composition_reference` inverts the moments of a sum along a line, with an error budget
but slowly; `contour` does the same at thousands of random points, where a budget for each would take hours.

`array_engine` (with `array_columns` and `array_mix`) is the oracle of the engines of tables: exact aggregates in numpy, one
row after the other, without SQL. `cks` draws discrete noise with integers alone, beside the samplers. `whole_joint` writes
out every combination of values of a table, beside the graphical models.
"""
