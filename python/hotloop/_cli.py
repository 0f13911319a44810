"""The command ``hotloop`` of a pip installation: the program that is part of the package."""

import os
import sys


def main() -> None:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "hotloop")
    os.execv(program, [program, *sys.argv[1:]])
