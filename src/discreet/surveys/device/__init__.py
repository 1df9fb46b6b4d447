"""What runs on the respondent's own device: randomizing, remembering, sending."""
