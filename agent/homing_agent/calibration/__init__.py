"""From labelled cases to a rule with a promise: how often the phone is wrong at most."""
