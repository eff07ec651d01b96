"""Cases from input files of Xcompact3D."""
