"""What a running program shows to the pages of `tailrace live`: facts, and the parts of fields that they ask for.

The run writes into a directory, its board, and pages read there: no rank serves anybody, and a page on another machine
needs the file system only.
"""
