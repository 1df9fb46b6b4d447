"""k-anonymity, l-diversity and t-closeness: make a release (`anonymize`) and measure one (`check`).

None of the three is a guarantee about a person: `discreet.lab.homogeneity`, `background`, `minimality` and
`intersection` show what is left. Differential privacy is what the rest of this package is for.
"""

from discreet.lab.anonymize.criteria import Criteria
from discreet.lab.anonymize.release import Anonymized, anonymize
from discreet.lab.anonymize.report import Report, check

__all__ = ["Anonymized", "Criteria", "Report", "anonymize", "check"]
