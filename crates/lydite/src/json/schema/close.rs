//! Strict mode at the price of plain validation: a schema under which every object of an instance
//! has exactly one schema that can name its properties is closed beforehand, by giving that schema
//! `additionalProperties: false`. This covers what schemas for structured output look like: nested
//! properties and items, `$ref` to a definition, one optional alternative beside scalars.

use jsonschema::Draft;
use serde_json::{Map, Value};

/// The schema that accepts what strict mode accepts, or `None` where only a walk can tell.
pub(super) fn closed(schema: &Value, draft: Draft) -> Option<Value> {
    let refs_stand_alone = matches!(draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7);
    let mut root = schema.clone();
    if let Value::Object(root) = &mut root {
        root.remove("$schema");
        root.remove("$id");
        root.remove("id");
    }
    let closer = Closer { refs_stand_alone };
    closer.close(&mut root)?;
    if let (Value::Object(closed), Value::Object(schema)) = (&mut root, schema) {
        for key in ["$schema", "$id", "id"] {
            if let Some(value) = schema.get(key) {
                closed.insert(key.to_owned(), value.clone());
            }
        }
    }
    Some(root)
}

/// What a schema says about objects and arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// That there are none: it only accepts scalars.
    Scalar,
    /// Nothing about what is inside.
    Surface,
    /// Something about what is inside, or it may: then it must be the only one.
    Inside,
}

struct Closer {
    /// A `$ref` silences the keywords beside it (up to draft 7).
    refs_stand_alone: bool,
}

/// Keywords with a reach that is not followed here.
const TOO_MUCH: &[&str] = &[
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$recursiveAnchor",
    "$recursiveRef",
    "$schema",
    "$vocabulary",
    "contains",
    "contentSchema",
    "dependencies",
    "dependentSchemas",
    "else",
    "id",
    "if",
    "patternProperties",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

impl Closer {
    /// Closes a schema in place, or gives up.
    fn close(&self, schema: &mut Value) -> Option<Reach> {
        let Value::Object(schema) = schema else {
            return Some(Reach::Surface);
        };
        for key in ["$defs", "definitions"] {
            self.close_each(schema.get_mut(key))?;
        }
        if schema.contains_key("$ref") && self.refs_stand_alone {
            return is_to_a_definition(schema).then_some(Reach::Inside);
        }
        if TOO_MUCH.iter().any(|keyword| schema.contains_key(*keyword)) {
            return None;
        }
        let untouched = ["not", "propertyNames"];
        if untouched
            .iter()
            .any(|keyword| schema.get(*keyword).is_some_and(refers))
        {
            return None;
        }
        let inside = [
            self.own_keywords(schema)?,
            self.reference(schema)?,
            self.all_of(schema)?,
            self.alternatives(schema.get_mut("anyOf"))?,
            self.alternatives(schema.get_mut("oneOf"))?,
        ];
        let inside = inside.into_iter().filter(|inside| *inside).count();
        match inside {
            _ if only_scalars(schema) && inside <= 1 => Some(Reach::Scalar),
            0 => Some(Reach::Surface),
            1 => Some(Reach::Inside),
            _ => None,
        }
    }

    /// The keywords that go to properties and elements.
    fn own_keywords(&self, schema: &mut Map<String, Value>) -> Option<bool> {
        let names = |schema: &Map<String, Value>| match schema.get("properties") {
            Some(Value::Object(properties)) => !properties.is_empty(),
            _ => false,
        };
        self.close_each(schema.get_mut("properties"))?;
        self.close_each(schema.get_mut("prefixItems"))?;
        for key in ["additionalProperties", "additionalItems"] {
            schema
                .get_mut(key)
                .map_or(Some(Reach::Surface), |schema| self.close(schema))?;
        }
        match schema.get_mut("items") {
            Some(Value::Array(items)) => items
                .iter_mut()
                .try_for_each(|item| self.close(item).map(drop))?,
            Some(item) => drop(self.close(item)?),
            None => {}
        }
        let keywords = [
            "items",
            "prefixItems",
            "additionalItems",
            "additionalProperties",
        ];
        let inside = names(schema) || keywords.iter().any(|keyword| schema.contains_key(*keyword));
        let open = matches!(
            schema.get("additionalProperties"),
            None | Some(Value::Bool(true))
        );
        if names(schema) && open {
            schema.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        Some(inside)
    }

    fn reference(&self, schema: &Map<String, Value>) -> Option<bool> {
        if !schema.contains_key("$ref") {
            return Some(false);
        }
        is_to_a_definition(schema).then_some(true)
    }

    fn all_of(&self, schema: &mut Map<String, Value>) -> Option<bool> {
        let Some(Value::Array(branches)) = schema.get_mut("allOf") else {
            return Some(false);
        };
        let reaches = self.reaches(branches)?;
        match reaches
            .iter()
            .filter(|reach| **reach == Reach::Inside)
            .count()
        {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// Of `anyOf` and `oneOf`, one branch may go inside where no other can hold for the same value.
    fn alternatives(&self, branches: Option<&mut Value>) -> Option<bool> {
        let Some(Value::Array(branches)) = branches else {
            return Some(false);
        };
        let reaches = self.reaches(branches)?;
        let others = reaches
            .iter()
            .filter(|reach| **reach != Reach::Scalar)
            .count();
        match (reaches.contains(&Reach::Inside), others) {
            (false, _) => Some(false),
            (true, 1) => Some(true),
            (true, _) => None,
        }
    }

    fn reaches(&self, branches: &mut [Value]) -> Option<Vec<Reach>> {
        branches
            .iter_mut()
            .map(|branch| self.close(branch))
            .collect()
    }

    /// Closes the schemas of a map or a list.
    fn close_each(&self, schemas: Option<&mut Value>) -> Option<()> {
        match schemas {
            Some(Value::Object(map)) => map
                .values_mut()
                .try_for_each(|schema| self.close(schema).map(drop)),
            Some(Value::Array(list)) => list
                .iter_mut()
                .try_for_each(|schema| self.close(schema).map(drop)),
            _ => Some(()),
        }
    }
}

/// Whether a `$ref` goes to a place that is closed too.
fn is_to_a_definition(schema: &Map<String, Value>) -> bool {
    let Some(Value::String(reference)) = schema.get("$ref") else {
        return false;
    };
    let definition = reference
        .strip_prefix("#/$defs/")
        .or_else(|| reference.strip_prefix("#/definitions/"));
    reference == "#" || definition.is_some_and(|name| !name.contains(['/', '%', '~']))
}

/// Whether there may be a reference anywhere inside.
fn refers(value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            let named = ["$ref", "$dynamicRef", "$recursiveRef"];
            named.iter().any(|keyword| map.contains_key(*keyword)) || map.values().any(refers)
        }
        Value::Array(list) => list.iter().any(refers),
        _ => false,
    }
}

/// Whether `type`, `enum` or `const` leave no object and no array.
fn only_scalars(schema: &Map<String, Value>) -> bool {
    let scalar_type = |name: &Value| !matches!(name.as_str(), None | Some("object" | "array"));
    let scalar = |value: &Value| !value.is_object() && !value.is_array();
    let all = |values: Option<&Value>, test: &dyn Fn(&Value) -> bool| {
        values
            .and_then(Value::as_array)
            .is_some_and(|values| values.iter().all(test))
    };
    schema.get("type").is_some_and(scalar_type)
        || all(schema.get("type"), &scalar_type)
        || all(schema.get("enum"), &scalar)
}
