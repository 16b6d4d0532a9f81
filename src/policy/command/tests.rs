use proptest::prelude::*;

use super::*;

fn parts(text: &str) -> Vec<Vec<String>> {
    let parts = read(text).unwrap_or_else(|why| panic!("{text:?}: {why}"));
    parts.into_iter().map(|part| part.into_iter().map(|word| word.text).collect()).collect()
}

#[test]
fn commands_are_taken_apart() {
    for (text, expected) in [
        ("ls", "ls"),
        ("  git\tstatus  ", "git status"),
        ("a; b", "a|b"),
        ("a && b || c | d & e", "a|b|c|d|e"),
        ("a &&\n b\n\nc;", "a|b|c"),
        ("echo 'a b'\"c d\"e", "echo a_bc_de"),
        ("echo '$x `y` \\ > |'", "echo $x_`y`_\\_>_|"),
        ("echo \"; && > #\"", "echo ;_&&_>_#"),
        ("cargo test 2>&1 | tail -5", "cargo test|tail -5"),
        ("make >/dev/null 2>&1; ls", "make|ls"),
        ("git log HEAD~1 a#b", "git log HEAD~1 a#b"),
        ("ls *.rs", "ls *.rs"),
        ("echo größe 東京", "echo größe 東京"),
        ("x ''", "x "),
    ] {
        let found: Vec<String> = parts(text).iter().map(|part| part.join(" ")).collect();
        let found = found.join("\u{1}").replace("a b", "a_b");
        let expected = expected.replace('|', "\u{1}");
        let blanks = |text: &str| text.replace('_', " ").replace('\u{1}', "|");
        assert_eq!(blanks(&found), blanks(&expected), "{text}");
    }
}

#[rustfmt::skip]
const UNCLEAR: &[&str] = &[
    "", " ", "\n", ";", "a;;b", "; a", "a &&", "a | | b", "&& a", "a |& b", "a &> f", "a;& b",
    "echo $x", "echo \"$x\"", "echo `x`", "echo \"`x`\"", "echo $(x)", "echo ${x}", "echo $'x'",
    "cat <(x)", "a > f", "a >> f", "a < f", "a 2>f", "a >&f", "a 2>&12", "cat <<E\nx\nE",
    "a <<< x", "(a)", "{ a; }", "a{b,c}", "f() { a; }", "if a; then b; fi",
    "for x in a; do b; done", "while a; do b; done", "case x in x) a;; esac", "! a", "time a",
    "[[ a ]]", "X=1 a", "X=1", "X+=1 a", "'X=1' a", "*/a", "./a?", "[ a ]", "a \\\n b", "a\\ b",
    "echo \"\\x\"", "a # b", "#a", "~/a", "a ~", "a x=~", "a x:~/b", "a 'b", "a \"b", "'' a",
    "a\u{a0}b", "a\u{3000}b", "a\rb", "a\0b", "a\u{1b}b", "a\u{200b}b", "a\u{202e}b",
    "a\u{feff}", "a\u{b}b", "function f", "coproc a",
];

#[test]
fn what_could_mean_more_is_not_understood() {
    for text in UNCLEAR {
        assert!(read(text).is_err(), "{text:?}: {:?}", read(text));
    }
}

/// Whether a shell would take an unquoted character for more than itself.
fn has_bare_sign(text: &str) -> bool {
    let mut quote = None;
    let harmless = HARMLESS.iter().fold(text.to_owned(), |text, form| text.replace(form, " "));
    harmless.chars().any(|c| match quote {
        Some(open) => {
            if c == open {
                quote = None;
            }
            open == '"' && matches!(c, '$' | '`' | '\\')
        }
        None if c == '\'' || c == '"' => {
            quote = Some(c);
            false
        }
        None => matches!(c, '$' | '`' | '\\' | '<' | '>' | '(' | ')' | '{' | '}'),
    })
}

proptest! {
    #[test]
    fn nothing_panics_and_nothing_bare_is_understood(text in any::<String>()) {
        if read(&text).is_ok() {
            prop_assert!(!has_bare_sign(&text));
        }
    }

    #[test]
    fn nor_in_what_looks_like_commands(
        text in r#"([a-c.*=~#!-]|[ \t\n]|[;|&<>(){}$`'"\\]|2>&1|>/dev/null|if |X=){0,12}"#,
    ) {
        if let Ok(parts) = read(&text) {
            prop_assert!(!has_bare_sign(&text), "{text:?}");
            prop_assert!(!parts.is_empty() && parts.iter().all(|part| !part.is_empty()));
        }
    }

    #[test]
    fn what_is_rendered_reads_as_the_same(words in proptest::collection::vec("[a-c $`'\"\\\\;|]{0,4}", 1..4)) {
        let part: Part =
            words.into_iter().map(|text| Word { text, wild: false }).collect();
        if let Some(text) = render(&part)
            && checked(part.clone()).is_ok()
        {
            prop_assert_eq!(read(&text), Ok(vec![part]));
        }
    }
}
