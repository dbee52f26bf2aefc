"""How Go reads and prints values. Nothing here knows Kubernetes, and nothing of Steersman is imported but JSON types.

`text` prints values as ``fmt`` and ``encoding/json`` do. `strict_json` and `json_scanner` read JSON with Go's errors,
`yaml_reader` and `yaml_writer` YAML by the rules of Go's library. `empty_values` keeps empty and absent apart,
`equality` and `numbers` compare and convert as Go does. The API server's messages depend on all of them.
"""
