"""Commands that work on a cluster which the user names.

`target` connects and asks for confirmation, `applying` applies, compares and deletes objects, `ownership` decides which
objects are ours. `deploy`, `undeploy`, `install`, `uninstall`, `migrate` and `samples` are commands; `rollout` waits
for a deployed operator. `doctor` prints the findings of `diagnosis` and `webhook_diagnosis`.
"""
