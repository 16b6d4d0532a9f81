//! Who wrote a reply, who reads it, and what of it only the writer may see again.
//!
//! Pure. Reasoning and signatures are a matter between a model and its provider: others refuse them
//! or are misled by them.

use std::borrow::Cow;

use crate::client::profile::adjust;
use crate::client::request::Message;

/// A model at a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaker {
    /// The provider's name.
    pub provider: String,
    /// The model's id there.
    pub model: String,
}

/// How much of a reply's inner side its reader takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// It wrote it itself.
    All,
    /// Of the same family at the same provider: not what is sealed for one model.
    Reasoning,
    /// Another model, or elsewhere.
    Nothing,
}

fn access(reader: Option<&Speaker>, by: Option<&Speaker>) -> Access {
    match reader.zip(by) {
        None => Access::All,
        Some((reader, by)) if reader == by => Access::All,
        Some((reader, by)) if reader.provider != by.provider => Access::Nothing,
        Some((reader, by)) if adjust::same_family(&reader.model, &by.model) => Access::Reasoning,
        Some(_) => Access::Nothing,
    }
}

/// True when two readers get to see the same of a reply.
pub(super) fn read_alike(a: Option<&Speaker>, b: Option<&Speaker>, by: Option<&Speaker>) -> bool {
    access(a, by) == access(b, by)
}

/// The message as a reader may see it; `by` wrote it.
pub(super) fn as_read<'a>(
    message: &'a Message,
    reader: Option<&Speaker>,
    by: Option<&Speaker>,
) -> Cow<'a, Message> {
    let access = access(reader, by);
    let Message::Assistant(reply) = message else { return Cow::Borrowed(message) };
    if access == Access::All {
        return Cow::Borrowed(message);
    }
    let mut reply = reply.clone();
    reply.reasoning_details = None;
    for call in &mut reply.tool_calls {
        call.extra_content = None;
    }
    if access == Access::Nothing {
        reply.reasoning.clear();
        reply.reasoning_field = None;
    }
    Cow::Owned(Message::Assistant(reply))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_see_what() {
        let speaker = |provider: &str, model: &str| Speaker {
            provider: provider.to_owned(),
            model: model.to_owned(),
        };
        let by = speaker("moonshot", "kimi-k3");
        let cases = [
            (speaker("moonshot", "kimi-k3"), Access::All),
            (speaker("moonshot", "kimi-k2.6"), Access::Reasoning),
            (speaker("moonshot", "other"), Access::Nothing),
            (speaker("openrouter", "moonshotai/kimi-k3"), Access::Nothing),
        ];
        for (reader, expected) in cases {
            assert_eq!(access(Some(&reader), Some(&by)), expected, "{reader:?}");
        }
        assert_eq!(access(None, Some(&by)), Access::All);
    }
}
