"""The controller of Services: EndpointSlices and Endpoints follow the pods."""
