//! Extra properties of strict mode, read off what the validator says it evaluated.
//!
//! The evaluation is a tree in which schemas and their keywords take turns: a schema's children are
//! its keywords, a keyword's children are the schemas it applied, each with the place in the
//! instance it was applied to. A reference stands for its target, dynamic scope and all, and of
//! `anyOf`, `oneOf`, `if` and `contains` the tree has the branches that hold, or all where none does.

use std::collections::HashSet;

use jsonschema::OutputUnit;
use serde_json::Value;

use super::super::{Json, push_index};
use super::{Schemas, Validator};
use crate::path::push_segment;

/// JSON Pointers to the properties of the instance that no schema names.
pub(super) fn extra_properties(
    validator: &Validator,
    schemas: &Schemas,
    instance: &Json<'_>,
) -> Vec<String> {
    let evaluation = validator.evaluate(instance);
    let mut reached = Reached {
        schemas,
        naming: HashSet::new(),
        covered: HashSet::new(),
    };
    reached.schema(&evaluation.root());
    let mut extra = Vec::new();
    reached.judge(instance, &mut String::new(), &mut extra);
    extra
}

/// Pointers into the instance.
struct Reached<'s, 'e> {
    schemas: &'s Schemas,
    /// Objects some schema of which names properties.
    naming: HashSet<&'e str>,
    /// Properties that some schema covers.
    covered: HashSet<&'e str>,
}

impl<'e> Reached<'_, 'e> {
    fn schema(&mut self, unit: &OutputUnit<'e>) {
        for keyword in unit.children() {
            let path = keyword.evaluation_path().as_str();
            match path.rsplit_once('/').map_or("", |(_, name)| name) {
                "$ref" | "$dynamicRef" | "$recursiveRef" => self.schema(&keyword),
                "not" | "propertyNames" => {}
                "properties" | "patternProperties" => {
                    self.covering(&keyword);
                    if self.names_something(&keyword) {
                        self.naming.insert(keyword.instance_location().as_str());
                    }
                }
                "additionalProperties" | "unevaluatedProperties" => self.covering(&keyword),
                _ => self.keyword(&keyword),
            }
        }
    }

    fn keyword(&mut self, unit: &OutputUnit<'e>) {
        for schema in unit.children() {
            self.schema(&schema);
        }
    }

    /// A keyword that applies schemas to properties.
    fn covering(&mut self, unit: &OutputUnit<'e>) {
        for schema in unit.children() {
            self.covered.insert(schema.instance_location().as_str());
            self.schema(&schema);
        }
    }

    /// Whether the map of a `properties` or `patternProperties` has any entry: it has if one applied,
    /// else the schema has to be asked.
    fn names_something(&self, unit: &OutputUnit<'_>) -> bool {
        unit.children().next().is_some() || !self.is_empty_map(unit.schema_location())
    }

    fn is_empty_map(&self, location: &str) -> bool {
        let empty = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty);
        self.schemas.at(location, empty).unwrap_or(false)
    }

    fn judge(&self, json: &Json<'_>, path: &mut String, extra: &mut Vec<String>) {
        let length = path.len();
        match json {
            Json::Object(members) => {
                let judged = self.naming.contains(path.as_str());
                for (key, value) in members {
                    push_segment(path, key);
                    if judged && !self.covered.contains(path.as_str()) {
                        extra.push(path.clone());
                    } else {
                        self.judge(value, path, extra);
                    }
                    path.truncate(length);
                }
            }
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    push_index(path, index);
                    self.judge(item, path, extra);
                    path.truncate(length);
                }
            }
            _ => {}
        }
    }
}
