"""The sections of a case file: their keys, types, limits and defaults. `case.case` makes the whole case of them."""
