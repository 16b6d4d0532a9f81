use super::*;

#[track_caller]
fn check(content: &str, old: &str, expected: &[&str]) {
    let told = explain(content.as_bytes(), old).unwrap();
    for part in expected {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn the_nearest_place_and_the_first_difference_are_told() {
    let file = "fn one() {}\n\nfn main() {\n    let total = 0;\n    println!(\"{total}\");\n}\n";
    check(
        file,
        "    let totals = 1;",
        &[
            "4:     let total = 0;",
            "Line 4, column 14: the file has U+0020 (space), old_string has U+0073 (\"s\").",
        ],
    );
    check(
        file,
        "fn main() {\n    let total = 0;\n    println!(\"{sum}\");",
        &["3: fn main() {", "5:     println!(\"{total}\");", "Line 5, column 16"],
    );
}

#[test]
fn invisible_differences_are_named() {
    for (line, expected) in [
        ("let\u{A0}value = 10;", "column 4: the file has U+00A0 (no-break space)"),
        ("let va\u{200B}lue = 10;", "U+200B (zero-width space)"),
        ("let value = 10;\u{FEFF}", "U+FEFF (byte order mark), old_string has the end of the line"),
        ("let value = 10", "the file has the end of the line, old_string has U+003B (\";\")"),
        ("let value =\t10;", "U+0009 (tab), old_string has U+0020 (space)"),
    ] {
        check(&format!("{line}\nnext\n"), "let value = 10;\nnext", &[expected]);
    }
    check("\tlet value = 10;\n", "    let value = 10;\n", &["column 1: the file has U+0009 (tab)"]);
}

#[test]
fn a_part_of_a_line_is_compared_where_it_stands() {
    let file = "    let\u{A0}x = 1; // one more\n";
    check(file, "let x = 1;", &["Line 1, column 8: the file has U+00A0 (no-break space)"]);
    let told = explain(b"say: needle and more\nother", "needle and more\nand").unwrap();
    assert!(told.contains("Line 2, column 1"), "{told}");
}

#[test]
fn a_missing_final_newline_is_told() {
    check("one\nthe end", "the end\n", &["2: the end", "The file has no newline at its end"]);
}

#[test]
fn nothing_alike_is_nothing() {
    for (content, old) in [("", "x = 1"), ("alpha\nbeta\n", "zzz qqq"), ("a\n", "\n\n"), ("a", "")]
    {
        assert_eq!(explain(content.as_bytes(), old), None);
    }
}

#[test]
fn a_place_at_the_edge_of_the_file_is_shown() {
    check("needle line\nrest\n", "before\nother\nneedle line", &["1: needle line"]);
    check("first\nneedle line", "needle line\nmore\nand more", &["2: needle line"]);
    check("\u{fc}ber needle line", "uber needle line", &["U+00FC"]);
    let told = explain(b"needle \xFC line\n", "needle u line").unwrap();
    assert!(told.contains("a byte that is not UTF-8"), "{told}");
}
