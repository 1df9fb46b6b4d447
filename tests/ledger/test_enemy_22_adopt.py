"""A ledger that was adopted does not know what was refined elsewhere, whatever kind of adoption it was."""

import pytest

from discreet.ledger.refusal import ClosedRefinement
from ledger.ledgers import guarantee, make
from ledger.test_refinements import answered, refine


@pytest.mark.parametrize("state", ["copied", "joined", "moved"])
def test_nothing_is_refined_after_an_adoption(path, state):
    with make(path, guarantee(3, "1e-6")) as ledger:
        first = answered(ledger)
        with ledger._journal.committed_section():
            ledger._journal.append("adopt", {"state": state, "sealed": []})
        with pytest.raises(ClosedRefinement):
            refine(ledger, first)
