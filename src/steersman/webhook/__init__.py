"""What an operator has to say about writes before they happen: admission, and the server that is asked."""
