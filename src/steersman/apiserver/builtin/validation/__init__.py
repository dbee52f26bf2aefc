"""What built-in kinds refuse beyond their metadata: the rules that authors meet most, in Kubernetes' words.

It is a published subset: a rule that is not here lets an object pass that a real cluster would refuse.
"""
