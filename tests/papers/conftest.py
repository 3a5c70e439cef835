"""What the tests of documents share: one quick laboratory for Kim & Pollard 2011, so that every scene runs once."""

import pytest

from manikin.papers.claims import Lab


@pytest.fixture(scope="session")
def kim2011() -> Lab:
    """Not the seed of the campaigns."""
    return Lab(quick=True, seed=11)
