"""`python -m privet` is the `privet` command."""

from privet.cli.app import main

if __name__ == "__main__":
    main()
