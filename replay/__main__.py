"""`python -m replay` is the command `replay`."""

from replay.cli.main import script

if __name__ == "__main__":
    script()
