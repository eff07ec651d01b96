"""Results of other programs as records of ours: IOR, benchio, and logs of Darshan.

`recognise` says by its content which of them a file is. What a file does not tell is left empty: `nodes` 0,
`precision`, `cache`, `began` "". No figure is made up; what is computed from figures of the file is said where it is.
"""
