"""The waist: the only code in which exact numbers and randomness meet."""
