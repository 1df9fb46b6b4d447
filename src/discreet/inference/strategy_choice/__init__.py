"""Planning: which strategy answers a workload with the least noise. Public facts only, before anything is spent."""
