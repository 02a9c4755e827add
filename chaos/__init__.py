"""`manage.py chaos`: the whole console under load, its processes killed over and over, and after each time a
look whether anything was lost, doubled or half applied.

`rounds` chooses victims and moments; `points` stops a process at a named place, `web` and `worker` are the
applications that can be stopped there; `stack` starts and kills; `clients` and `watchers` are the
load, `journal` what they know; `checks` judges; `campaign` plays the rounds.
"""
