"""Reads YAML documents, holds each against the schema of its kind, and prints them as one JSON list.

    objects.py --plain FILE ...              only reads
    objects.py --crds FOLDER FILE ...        validates as well: Kubernetes' own kinds against the schemas of the oldest and
                                             newest version that kubernetes-validate brings, the operator's against its CRDs

A field that a schema does not know is an error: the API server would drop it, and nobody would notice.
"""

import argparse
import json
import pathlib
import sys

import jsonschema
import yaml
from kubernetes_validate import utils as kubernetes


class Loader(yaml.SafeLoader):
    """Refuses a key that stands twice in a mapping: the second would silently win."""


def mapping(loader, node):
    keys = [loader.construct_object(key) for key, _ in node.value]
    twice = {key for key in keys if keys.count(key) > 1}
    if twice:
        raise yaml.YAMLError(f"twice in one mapping: {sorted(twice)}{node.start_mark}")
    return loader.construct_mapping(node, deep=True)


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)


def strict(schema):
    """The same schema, without room for what it does not name."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(part) for key, part in schema.items()}
    if isinstance(schema.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    if schema.get("x-kubernetes-int-or-string"):
        made.pop("type", None)
    return made


def custom_kinds(folder):
    """Schemas of the custom resources, by version and kind."""
    schemas = {}
    for path in sorted(pathlib.Path(folder).glob("*.yaml")):
        crd = yaml.load(path.read_text(), Loader)["spec"]
        for version in crd["versions"]:
            schema = strict(version["schema"]["openAPIV3Schema"])
            # Of the metadata a CRD says only that there are some.
            schema["properties"]["metadata"] = {"type": "object", "required": ["name"]}
            schemas[f"{crd['group']}/{version['name']}", crd["names"]["kind"]] = schema
    return schemas


def problems(thing, custom):
    schema = custom.get((thing["apiVersion"], thing["kind"]))
    if schema:
        errors = jsonschema.Draft7Validator(schema).iter_errors(thing)
        yield from (f"{error.json_path}: {error.message}" for error in errors)
        return
    versions = kubernetes.all_versions()
    for version in (versions[0], versions[-1]):
        try:
            kubernetes.validate(thing, version, strict=True)
        except kubernetes.ValidationError as error:
            yield f"Kubernetes {version}: {error.json_path}: {error.message}"
        except kubernetes.SchemaNotFoundError as error:
            yield error.message


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--crds")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    asked = parser.parse_args()
    things = []
    for path in asked.files:
        things += [thing for thing in yaml.load_all(path.read_text(), Loader) if thing is not None]
    said = []
    if not asked.plain:
        custom = custom_kinds(asked.crds)
        if not custom:
            sys.exit(f"no CRDs in {asked.crds}")
        for thing in things:
            name = f"{thing['kind']} {thing['metadata']['name']}"
            said += [f"{name}: {problem}" for problem in problems(thing, custom)]
    if said:
        sys.exit("\n".join(said))
    json.dump(things, sys.stdout)


main()
