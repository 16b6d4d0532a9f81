use serde_json::json;

use super::*;

/// The list that these deltas add up to.
fn check(deltas: &[Value], expected: &Value) {
    let mut details = Details::default();
    for delta in deltas {
        details.push(delta.clone());
    }
    assert_eq!(details.finish(false).unwrap_or_default(), *expected, "{deltas:?}");
}

#[test]
fn pieces_of_a_block_become_one_entry() {
    let text = |text: &str, index: u32| json!({"type": "text", "text": text, "index": index});
    let seal = json!({"type": "text", "signature": "s", "index": 0});
    let secret = |data: &str| json!({"type": "encrypted", "data": data, "index": 0});
    check(&[], &Value::Null);
    check(&[json!([]), json!("x"), Value::Null], &Value::Null);
    check(&[json!([text("a", 0), text("b", 0)]), json!([text("c", 1)])], &json!([text("ab", 0), text("c", 1)]));
    check(&[text("a", 0), seal.clone(), text("b", 0)], &json!([
        {"type": "text", "text": "a", "signature": "s", "index": 0}, text("b", 0)
    ]));
    check(&[secret("x"), secret("y")], &json!([secret("x"), secret("y")]));
    check(
        &[json!({"type": "summary", "summary": "a", "id": null}), json!({"type": "summary", "summary": "b", "id": "i"})],
        &json!([{"type": "summary", "summary": "ab", "id": "i"}]),
    );
    check(
        &[json!({"type": "text", "text": "a", "id": "1"}), json!({"type": "text", "text": "b", "id": "2"})],
        &json!([{"type": "text", "text": "a", "id": "1"}, {"type": "text", "text": "b", "id": "2"}]),
    );
}

#[test]
fn readable_text() {
    assert_eq!(text_of(&json!([{"text": "a"}, {"summary": "b"}, {"data": "x"}, 5])), "ab");
    assert_eq!(text_of(&json!({"text": "a"})), "a");
}
