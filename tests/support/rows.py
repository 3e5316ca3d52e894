"""Tables of cases: a row a case, by its name."""

from collections.abc import Mapping

import pytest


def rows(names: str, table: Mapping[str, object]) -> pytest.MarkDecorator:
    """Runs a test once for each row: its values, for the parameters ``names``. A row of one value is that value."""
    columns = names.split()
    return pytest.mark.parametrize(
        columns,
        [pytest.param(*(row if len(columns) > 1 else (row,)), id=name) for name, row in table.items()],  # type: ignore[misc]
    )
