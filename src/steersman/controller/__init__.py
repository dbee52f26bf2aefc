"""From a change to a reconcile: triggers, predicates, the controller, and the context it hands to the author."""
