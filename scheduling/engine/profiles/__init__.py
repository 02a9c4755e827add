"""What kube-scheduler itself would do with a group, release by release, step by step."""
