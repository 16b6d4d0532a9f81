use super::{Frame, draw};
use crate::ui::style::Palette;

fn drawn(diff: &str, width: usize, height: usize) -> String {
    let mut out = String::new();
    draw(diff, &Frame { palette: Palette { color: false }, width, height }, &mut out);
    out
}

const TWO_HUNKS: &str = "@@ -8,3 +8,3 @@ fn main\n context\n-old\n+new\n last\n@@ -100 +100,2 @@\n-a\n+b\n+\tc\n\\ No newline at end of file\n";

#[test]
fn numbers_follow_the_hunks() {
    insta::assert_snapshot!(drawn(TWO_HUNKS, 40, 20), @r"
          8   context
          9 - old
          9 + new
         10   last
            ⋮
        100 - a
        100 + b
        101 +     c
            \  No newline at end of file
    ");
}

#[test]
fn height_and_width_are_bounded() {
    insta::assert_snapshot!(drawn(TWO_HUNKS, 13, 3), @r"
      8   co…
      9 - old
      9 + new
    … 6 more lines
    ");
}

#[test]
fn a_new_file_is_all_added() {
    insta::assert_snapshot!(drawn("fn main() {\n\tprintln!();\u{1b}[2J\n}\n", 40, 2), @r"
        1 + fn main() {
        2 +     println!();
        … 1 more line
    ");
}

#[test]
fn odd_input_is_shown_as_it_is() {
    insta::assert_snapshot!(drawn("@@ broken @@\n東京タワー\n", 12, 9), @r"
    1   @@ …
    2   東…
    ");
}
