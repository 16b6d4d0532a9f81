use super::*;

#[test]
fn answers() {
    let one = |index, keep| Some(Picked::One { index, keep });
    for (text, expected) in [
        ("", one(0, false)),
        (" 2 ", one(1, false)),
        ("3+", one(2, true)),
        ("2 +", one(1, true)),
        ("+", one(0, true)),
        ("0", None),
        ("4", None),
        ("deepseek", None),
        ("-1", None),
    ] {
        assert_eq!(answer(&Line::Text(text.to_owned()), 3), expected, "{text}");
    }
    assert_eq!(answer(&Line::Eof, 3), Some(Picked::Quit));
    assert_eq!(answer(&Line::Interrupted, 3), Some(Picked::Quit));
}

#[test]
fn the_list_is_aligned() {
    let choice = |provider: &str, model: Option<&str>, sign: &str| Choice {
        provider: provider.to_owned(),
        model: model.map(str::to_owned),
        sign: sign.to_owned(),
    };
    let choices = [
        choice("deepseek", Some("deepseek-flash"), "DEEPSEEK_API_KEY"),
        choice("together", None, "TOGETHER_API_KEY"),
    ];
    let expected = "Several providers can be used:
  1  deepseek  deepseek-flash  DEEPSEEK_API_KEY
  2  together  ?               TOGETHER_API_KEY";
    assert_eq!(list(&choices), expected);
}
