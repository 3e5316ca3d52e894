"""What each run tells at its end, of whichever tests."""

pytest_plugins = ["tests.support.not_run"]
