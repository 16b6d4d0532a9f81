//! The beginning of a text, for a place that has no room for all of it.

use std::borrow::Cow;

/// At most this many characters; that there are more is shown by an ellipsis behind them.
pub fn brief(text: &str, characters: usize) -> Cow<'_, str> {
    match text.char_indices().nth(characters) {
        Some((end, _)) => Cow::Owned(text.get(..end).unwrap_or_default().to_owned() + "…"),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::brief;

    #[test]
    fn what_is_cut_shows() {
        for (text, expected) in
            [("", ""), ("äöü", "äöü"), ("äöüß", "äöü…"), ("日本語です", "日本語…")]
        {
            assert_eq!(brief(text, 3), expected);
        }
    }
}
