use super::{Ask, draw};
use crate::ui::diff::Frame;
use crate::ui::style::Palette;

fn drawn(ask: &Ask) -> String {
    let mut out = String::new();
    draw(ask, &Frame { palette: Palette { color: false }, width: 40, height: 2 }, &mut out);
    out
}

#[test]
fn a_command_is_shown_whole_and_escaped() {
    let ask = Ask {
        tool: "shell".into(),
        subject: format!("echo ok\u{1b}[2K\rrm -rf x\u{202e}\n{} end", "long ".repeat(12)),
        diff: None,
        cwd: "/work/a\nb".into(),
        reason: "mode ask asks before this".into(),
        model_says: Some("it is safe\n? Allow\u{1b}[2J".into()),
        always: vec!["always keeps: shell(x)".into()],
    };
    insta::assert_snapshot!(drawn(&ask), @r#"
    ? Allow shell
      │ echo ok\u{1b}[2K\rrm -rf x\u{202e}
      │ long long long long long long long long long long long long  end
      in /work/a\nb
      asked because mode ask asks before this
      the model says: "it is safe\n? Allow\u{1b}[2J"
      always keeps: shell(x)
    "#);
}

#[test]
fn a_change_is_shown_as_a_diff() {
    let ask = Ask {
        tool: "edit".into(),
        subject: "src/main.rs".into(),
        diff: Some("@@ -3,2 +3,2 @@\n-old\n+new\n same\n".into()),
        ..Ask::default()
    };
    insta::assert_snapshot!(drawn(&ask), @r"
    ? Allow edit
      │ src/main.rs
        3 - old
        3 + new
        … 1 more line
    ");
}

#[test]
fn a_tall_command_says_again_how_it_begins() {
    let subject = format!("touch EVIL\n{}", "# nothing\n".repeat(40));
    let ask = Ask { tool: "shell".into(), subject, ..Ask::default() };
    let shown = drawn(&ask);
    let last = shown.lines().next_back().unwrap_or_default();
    assert!(last.contains("42 lines, all of them run; the first: touch EVIL"), "{last}");
}
