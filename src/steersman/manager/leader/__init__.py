"""Leader election: ``lease`` has the rules, ``election`` sends the requests, ``leadership`` fences writes."""
