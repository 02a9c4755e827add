"""What is tried out on forks of a cluster's state: scenarios, batches, traces, the verification matrix."""
