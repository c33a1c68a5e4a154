"""``python -m es_simhash`` and the command ``es-simhash``."""

from es_simhash.cli import main

if __name__ == "__main__":
    main()
