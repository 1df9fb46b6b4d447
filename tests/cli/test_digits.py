"""Numbers in files: few digits, and intervals that still hold what they held."""

from __future__ import annotations

import pytest

from discreet.cli.noise_digits import round_to_noise


@pytest.mark.parametrize("width", [0.0123, 0.5, 1.0, 7.77, 12.3456, 98765.4321])
@pytest.mark.parametrize("value", [0.0, 3.14159265358979, -271.828182845905, 1234567.891234])
def test_outward_and_hardly_wider(value, width):
    shown, low, high = round_to_noise(value, value - width, value + width)
    assert low <= value - width and value + width <= high
    assert high - low <= 2 * max(width * 1.0101, width + 1)
    assert abs(shown - value) <= max(width / 200, 0.5 if width >= 100 else 0)
    assert max(len(f"{each:.15g}".partition(".")[2]) for each in (shown, low, high)) <= (4 if width < 0.1 else 3)


def test_what_has_no_noise_or_is_whole_stays():
    assert round_to_noise(7, 1.23456, 12.76544) == (7, 1.23, 12.77)
    assert round_to_noise(7.25, 7.25, 7.25) == (7.25, 7.25, 7.25)
    assert repr(round_to_noise(1234.5678, -1000.5, 3469.6)[0]) in ("1235", "1235.0")
