//! Reading a line of the log in one pass: `type`, `seq` and `at` stand first, so that the kind is
//! known before the fields that depend on it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::assistant::AssistantLine;
use super::{Event, Record};

impl Record {
    /// Reads one line of the log, with or without its line feed.
    pub fn from_line(line: &[u8]) -> Result<Self, serde_json::Error> {
        let line = std::str::from_utf8(line).map_err(serde_json::Error::custom)?;
        serde_json::from_str(line)
            .or_else(|_| serde_json::from_str(&serde_json::to_string(&in_order(line)?)?))
    }
}

/// A line's fields with the first ones in front.
#[derive(Serialize)]
struct InOrder<'a> {
    r#type: Option<&'a RawValue>,
    seq: Option<&'a RawValue>,
    at: Cow<'a, str>,
    #[serde(flatten)]
    rest: BTreeMap<String, &'a RawValue>,
}

/// Brings a line in order that another program wrote, or a person.
fn in_order(line: &str) -> Result<InOrder<'_>, serde_json::Error> {
    let mut rest: BTreeMap<String, &RawValue> = serde_json::from_str(line)?;
    let at = rest.remove("at").map_or(Ok(Text::default()), |at| serde_json::from_str(at.get()))?;
    Ok(InOrder { r#type: rest.remove("type"), seq: rest.remove("seq"), at: at.0, rest })
}

/// A string, borrowed from the line where nothing in it is escaped.
#[derive(Default, Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Record {
    /// Takes a map that begins with `type`, `seq` and `at`.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Ordered)
    }
}

struct Ordered;

impl<'de> Visitor<'de> for Ordered {
    type Value = Record;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an event that begins with type, seq and at")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record, A::Error> {
        let kind: Text<'de> = next(&mut map, "type")?;
        let seq = next(&mut map, "seq")?;
        let at = next(&mut map, "at")?;
        let event = event(&kind.0, MapAccessDeserializer::new(map))?;
        Ok(Record { seq, at, event })
    }
}

/// The value of the next field, which has to have this name.
fn next<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
    map: &mut A,
    name: &'static str,
) -> Result<T, A::Error> {
    match map.next_key::<Text<'de>>()? {
        Some(key) if key.0 == name => map.next_value(),
        _ => Err(A::Error::missing_field(name)),
    }
}

/// The event of this kind in the rest of a line.
fn event<'de, D: Deserializer<'de>>(kind: &str, rest: D) -> Result<Event, D::Error> {
    Ok(match kind {
        "system_prompt" => Event::SystemPrompt(Deserialize::deserialize(rest)?),
        "user_message" => Event::UserMessage(Deserialize::deserialize(rest)?),
        "assistant_message" => Event::AssistantMessage(AssistantLine::deserialize(rest)?.into()),
        "tool_started" => Event::ToolStarted(Deserialize::deserialize(rest)?),
        "tool_result" => Event::ToolResult(Deserialize::deserialize(rest)?),
        "compaction" => Event::Compaction(Deserialize::deserialize(rest)?),
        "model_changed" => Event::ModelChanged(Deserialize::deserialize(rest)?),
        "permission" => Event::Permission(Deserialize::deserialize(rest)?),
        "file_change" => Event::FileChange(Deserialize::deserialize(rest)?),
        "rewind" => Event::Rewind(Deserialize::deserialize(rest)?),
        "rewind_finished" => Event::RewindFinished(Deserialize::deserialize(rest)?),
        "turn_finished" => Event::TurnFinished(Deserialize::deserialize(rest)?),
        other => {
            let _: IgnoredAny = Deserialize::deserialize(rest)?;
            Event::Unknown(other.to_owned())
        }
    })
}

#[cfg(test)]
mod tests;
