//! Argument schemas in the subset of JSON Schema that every provider accepts.
//!
//! `schemars` describes a Rust type with references, titles, formats, bounds and null unions; some
//! provider refuses each of them. [`Schema::of`] flattens its output into the few words that all
//! understand, and those few are also what [`super::arguments`] validates against, so what a model
//! was told and what it is held to cannot differ. The bytes are a fixed order of their own, however
//! maps are ordered in the JSON library: they are part of the cached prefix of every request.
//!
//! It does not validate, and it does not try to express what the subset cannot: a union of several
//! real types becomes its first.

pub mod declared;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

/// How deep a schema may nest; deeper parts become plain strings.
const MAX_DEPTH: usize = 16;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
    /// A list of [`Schema::items`].
    Array,
    /// A record of [`Schema::properties`].
    Object,
}

impl Kind {
    /// The word for it in a schema.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::String, Self::Integer, Self::Number, Self::Boolean, Self::Array, Self::Object]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// What a value must look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// Its type.
    pub kind: Kind,
    /// What it means, for the model.
    pub description: Option<String>,
    /// The only allowed strings; empty when any will do.
    pub choices: Vec<String>,
    /// What each element of an array looks like.
    pub items: Option<Box<Self>>,
    /// The fields of an object, in the order they are shown.
    pub properties: Vec<Property>,
    /// What is checked, but not on the wire, for not all providers take it.
    pub bounds: Bounds,
    /// What becomes of fields of an object that are not in [`Schema::properties`].
    pub others: Others,
}

/// Limits of a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// The smallest allowed number.
    pub minimum: Option<f64>,
    /// The largest allowed number.
    pub maximum: Option<f64>,
    /// The fewest characters of a string.
    pub min_length: Option<u64>,
    /// The most characters of a string.
    pub max_length: Option<u64>,
    /// A regular expression that is found in the string.
    pub pattern: Option<String>,
}

/// What to do with a field that the schema does not name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Others {
    /// It is left out, and that is noted.
    #[default]
    Drop,
    /// It is passed on.
    Keep,
    /// The call is refused.
    Refuse,
}

/// A field of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// It must be there.
    pub required: bool,
    /// What its value looks like.
    pub schema: Schema,
}

impl Schema {
    /// The schema of a tool's argument type, flattened. Doc comments of the fields become the
    /// descriptions; the type's own doc comment is left out, the tool's description says it.
    pub fn of<T: JsonSchema>() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
        });
        let root = settings.into_generator().into_root_schema_for::<T>();
        Self { description: None, ..Self::flatten(root.as_value()) }
    }

    /// Flattens any JSON Schema.
    pub fn flatten(root: &Value) -> Self {
        flatten(root, root, 0)
    }

    /// The field of that name.
    pub fn property(&self, name: &str) -> Option<&Property> {
        self.properties.iter().find(|property| property.name == name)
    }

    /// How an object of this schema is written, in one line for an error message:
    /// `{"pattern": string, "path": string (optional)}`.
    pub fn shape(&self) -> String {
        match self.kind {
            Kind::Object => {
                let fields: Vec<_> = self.properties.iter().map(Property::shape).collect();
                format!("{{{}}}", fields.join(", "))
            }
            Kind::Array => {
                let items = self.items.as_ref().map_or("any".to_owned(), |items| items.shape());
                format!("[{items}, …]")
            }
            Kind::String if !self.choices.is_empty() => self.listed(),
            Kind::String | Kind::Integer | Kind::Number | Kind::Boolean => {
                self.kind.name().to_owned()
            }
        }
    }

    /// The allowed strings as they are written: `"content" | "files"`.
    pub fn listed(&self) -> String {
        let quoted: Vec<_> = self.choices.iter().map(|choice| format!("\"{choice}\"")).collect();
        quoted.join(" | ")
    }
}

impl Property {
    fn shape(&self) -> String {
        let optional = if self.required { "" } else { " (optional)" };
        format!("\"{}\": {}{optional}", self.name, self.schema.shape())
    }
}

fn flatten(node: &Value, root: &Value, depth: usize) -> Schema {
    let (body, described) = resolve(node, root);
    let description = described.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let choices = choices(body);
    let kind = kind(body, &choices);
    let deeper = depth < MAX_DEPTH;
    Schema {
        kind,
        description,
        choices,
        items: (kind == Kind::Array && deeper)
            .then(|| Box::new(flatten(body.get("items").unwrap_or(&Value::Null), root, depth + 1))),
        properties: if kind == Kind::Object && deeper {
            properties(body, root, depth)
        } else {
            Vec::new()
        },
        bounds: Bounds {
            minimum: body.get("minimum").and_then(Value::as_f64),
            ..Bounds::default()
        },
        others: Others::Drop,
    }
}

/// Follows references and single-type unions to the node that says what the value is, keeping the
/// outermost description. Bounded, for references may form a circle.
fn resolve<'a>(node: &'a Value, root: &'a Value) -> (&'a Value, Option<String>) {
    let mut node = node;
    let mut described = None;
    for _ in 0..MAX_DEPTH {
        described = described.or_else(|| text(node, "description"));
        let Some(next) = referenced(node, root).or_else(|| only_variant(node)) else { break };
        node = next;
    }
    (node, described)
}

fn referenced<'a>(node: &Value, root: &'a Value) -> Option<&'a Value> {
    root.pointer(node.get("$ref")?.as_str()?.strip_prefix('#')?)
}

/// The first variant of a union that is not null, unless the union is a list of constants.
fn only_variant(node: &Value) -> Option<&Value> {
    if !choices(node).is_empty() {
        return None;
    }
    let variants = ["anyOf", "oneOf", "allOf"].iter().find_map(|word| node.get(*word))?;
    variants.as_array()?.iter().find(|variant| text(variant, "type").as_deref() != Some("null"))
}

fn text(node: &Value, word: &str) -> Option<String> {
    node.get(word)?.as_str().map(str::to_owned)
}

/// The allowed strings: an `enum`, a `const`, or a union of such (an enum with documented variants).
fn choices(node: &Value) -> Vec<String> {
    let own = node.get("enum").and_then(Value::as_array).into_iter().flatten();
    let own: Vec<_> = own.chain(node.get("const")).filter_map(Value::as_str).collect();
    if !own.is_empty() {
        return own.into_iter().map(str::to_owned).collect();
    }
    let union = ["oneOf", "anyOf"].iter().find_map(|word| node.get(*word)?.as_array());
    let mut all = Vec::new();
    for variant in union.into_iter().flatten() {
        let of_variant = variant.get("enum").and_then(Value::as_array).into_iter().flatten();
        let strings = of_variant.chain(variant.get("const")).filter_map(Value::as_str);
        let before = all.len();
        all.extend(strings.map(str::to_owned));
        if all.len() == before && text(variant, "type").as_deref() != Some("null") {
            return Vec::new();
        }
    }
    all
}

fn kind(node: &Value, choices: &[String]) -> Kind {
    if !choices.is_empty() {
        return Kind::String;
    }
    let named = match node.get("type") {
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).find_map(Kind::from_name)
        }
        Some(name) => name.as_str().and_then(Kind::from_name),
        None => None,
    };
    named.unwrap_or(if node.get("properties").is_some() { Kind::Object } else { Kind::String })
}

/// Required fields in the order of their declaration, then the optional ones by name.
fn properties(node: &Value, root: &Value, depth: usize) -> Vec<Property> {
    let Some(fields) = node.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let required = node.get("required").and_then(Value::as_array).into_iter().flatten();
    let required: Vec<_> = required.filter_map(Value::as_str).collect();
    let mut found: Vec<_> = fields
        .iter()
        .map(|(name, field)| Property {
            name: name.clone(),
            required: required.contains(&name.as_str()),
            schema: flatten(field, root, depth + 1),
        })
        .collect();
    found.sort_by_key(|property| {
        let place = required.iter().position(|name| *name == property.name);
        (place.unwrap_or(usize::MAX), property.name.clone())
    });
    found
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.kind.name())?;
        if let Some(description) = &self.description {
            map.serialize_entry("description", description)?;
        }
        if !self.choices.is_empty() {
            map.serialize_entry("enum", &self.choices)?;
        }
        if let Some(items) = &self.items {
            map.serialize_entry("items", items)?;
        }
        if self.kind == Kind::Object {
            map.serialize_entry("properties", &Fields(&self.properties))?;
            let required = self.properties.iter().filter(|property| property.required);
            let required: Vec<_> = required.map(|property| &property.name).collect();
            if !required.is_empty() {
                map.serialize_entry("required", &required)?;
            }
        }
        map.end()
    }
}

/// Fields as a JSON object in their own order.
struct Fields<'a>(&'a [Property]);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|property| (&property.name, &property.schema)))
    }
}

#[cfg(test)]
mod tests;
