"""Many requests, one model (docs/adr/0007-one-thread-many-answers.md).

opening    makes a scheduler of a loaded model and its settings
scheduler  takes what is asked, says what came of it
plan       what to compute next, a pure function of a view; batch: which prompts together;
           pace: how fast this machine is
intake     requests become tasks (writing, warming, scoring_task, embedding_task) in the ledger
stepper    carries out the plan through the executor, and cleans up
parts      what it stands on, as protocols; tests put fakes there
"""
