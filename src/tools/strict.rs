//! The check that a text is a JSON object which even a strict server accepts.
//!
//! It runs over every past call of every request that is encoded, so it builds nothing: the parser
//! walks the text and the values are dropped as they come. It repairs nothing; that is
//! [`super::lenient`]'s work.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// True when the text is one JSON object, with every string decodable.
pub fn is_object(text: &str) -> bool {
    serde_json::from_str::<StrictObject>(text).is_ok()
}

/// Accepts a JSON object whose every string can be decoded, and keeps nothing of it.
struct StrictObject;

/// Accepts any JSON value, likewise.
struct StrictValue;

impl<'de> Deserialize<'de> for StrictObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OnlyObject;
        impl<'de> Visitor<'de> for OnlyObject {
            type Value = StrictObject;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<StrictObject, A::Error> {
                Walk.visit_map(map).map(|_| StrictObject)
            }
        }
        deserializer.deserialize_map(OnlyObject)
    }
}

impl<'de> Deserialize<'de> for StrictValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Walk)
    }
}

/// Walks a value so that the parser decodes all of it. `IgnoredAny` would skip the strings, and
/// with them lone surrogates, on which servers fail.
struct Walk;

impl<'de> Visitor<'de> for Walk {
    type Value = StrictValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<StrictValue, E> {
        Ok(StrictValue)
    }
    fn visit_bool<E>(self, _: bool) -> Result<StrictValue, E> {
        Ok(StrictValue)
    }
    fn visit_i64<E>(self, _: i64) -> Result<StrictValue, E> {
        Ok(StrictValue)
    }
    fn visit_u64<E>(self, _: u64) -> Result<StrictValue, E> {
        Ok(StrictValue)
    }
    fn visit_f64<E>(self, _: f64) -> Result<StrictValue, E> {
        Ok(StrictValue)
    }
    fn visit_str<E>(self, _: &str) -> Result<StrictValue, E> {
        Ok(StrictValue)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<StrictValue, A::Error> {
        while seq.next_element::<StrictValue>()?.is_some() {}
        Ok(StrictValue)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<StrictValue, A::Error> {
        while map.next_entry::<StrictValue, StrictValue>()?.is_some() {}
        Ok(StrictValue)
    }
}
