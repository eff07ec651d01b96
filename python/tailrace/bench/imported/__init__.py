"""Results of other programs as records of ours: IOR, benchio, and logs of Darshan.

`recognise` finds by the content which of them a file is. Values that a file does not have stay empty: `nodes` 0,
`precision`, `cache`, `began` "". No figure is made up; docstrings name the figures that are computed from others.
"""
