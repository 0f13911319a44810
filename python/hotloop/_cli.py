"""The command ``hotloop`` of a pip installation: starts the program in the package."""

import os
import sys


def main() -> None:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "hotloop")
    os.execv(program, [program, *sys.argv[1:]])
