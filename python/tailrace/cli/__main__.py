"""`python -m tailrace.cli` is the command `tailrace`."""

from .main import main

if __name__ == "__main__":
    main()
