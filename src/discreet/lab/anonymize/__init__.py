"""k-anonymity, l-diversity and t-closeness: make a release (`anonymize`) and measure one (`check`).

None of the three is a guarantee about a person: `discreet.lab.attacks.homogeneity`, `background`, `minimality` and
`intersection` show what is left. Differential privacy is what the rest of this package is for.
"""

from discreet.lab.anonymize.anonymity_report import AnonymityReport, check
from discreet.lab.anonymize.anonymizer import AnonymizedRelease, anonymize
from discreet.lab.anonymize.criteria import Criteria

__all__ = ["AnonymityReport", "AnonymizedRelease", "Criteria", "anonymize", "check"]
