"""`python -m discreet`: the command line, where no script is on the path."""

from discreet.cli import run

if __name__ == "__main__":
    run()
