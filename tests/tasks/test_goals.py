"""Goals refuse numbers that no motion can follow."""

from typing import Any

import numpy as np
import pytest

import manikin as mk


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([0.0, np.nan, 1.0], "needs finite numbers"),
        ([[0.0, 1.0], [2.0]], "needs numbers, in rows of equal length"),
        ("here", "given 'here': needs numbers"),
        (None, "given None"),
    ],
)
def test_numbers_that_are_none_are_refused(value: Any, says: str) -> None:
    with pytest.raises(mk.InputError, match=r"^Fixed: given ") as caught:
        mk.Fixed(value)
    assert says in str(caught.value)


KEYS = [[0.0, 0.0, 1.0], [0.0, 0.0, 2.0]]


@pytest.mark.parametrize(
    ("times", "keys", "start", "says"),
    [
        ([0.0, 1.0], KEYS[:1], 0.0, "Path: keys: given the shape (1, 3): needs one row for each of 2 times"),
        ([0.0, 1.0], [1.0, 2.0], 0.0, "Path: keys: given the shape (2,)"),
        ([0.0, 1.0], [KEYS[0], [0.0, 1.0]], 0.0, "Path: keys: given [[0.0, 0.0, 1.0], [0.0, 1.0]]: needs numbers"),
        ([0.0, 1.0], [KEYS[0], [0.0, 1.0, np.inf]], 0.0, "Path: keys: given [[0.0, 0.0, 1.0], [0.0, 1.0, inf]]: needs finite"),
        ([1.0, 1.0], KEYS, 0.0, "Path: times: given [1.0, 1.0]: needs one or more that increase"),
        ([], KEYS, 0.0, "Path: times: given []"),
        ([0.0, np.nan], KEYS, 0.0, "Path: times: given [0.0, nan]: needs finite numbers"),
        ([0.0, 1.0], KEYS, np.nan, "Path: start: given nan"),
    ],
)
def test_a_path_needs_a_row_for_each_of_its_times(times: Any, keys: Any, start: float, says: str) -> None:
    with pytest.raises(mk.InputError) as caught:
        mk.Path(times, keys, start)
    assert str(caught.value).startswith(says)


def test_plain_lists_are_welcome() -> None:
    world = mk.stage(mk.human(skin=False))
    assert mk.Path([0, 1], KEYS, -0.5).at(world).value == pytest.approx([0.0, 0.0, 1.5])
    assert mk.Fixed([[1, 2, 3], [4, 5, 6]]).value.tolist() == [1, 2, 3, 4, 5, 6]
