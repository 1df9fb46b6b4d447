"""Networks: how one behaves, not who is in it. Statistics, models and rumours, from noisy measurements alone."""
