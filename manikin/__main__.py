"""python -m manikin"""

from manikin.cli import main

main()
