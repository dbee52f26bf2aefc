"""`python -m steersman.cli`: the command `steer`, where scripts are not on the path."""

from steersman.cli import main

if __name__ == "__main__":
    main()
