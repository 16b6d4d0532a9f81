use proptest::prelude::*;

use super::*;

#[test]
fn commands_are_found_where_they_hide() {
    for text in [
        "rm -f x",
        "ls; rm -f x",
        "ls && rm -f x",
        "ls\nrm -f x",
        "ls | rm -f x",
        "(rm -f x)",
        "{ rm -f x; }",
        "echo $(rm -f x)",
        "echo \"a $(rm -f x) b\"",
        "echo `rm -f x`",
        "echo \"$(echo \"$(rm -f x)\")\"",
        "if true; then rm -f x; fi",
        "for f in a; do rm -f x; done",
        "X=1 Y=2 rm -f x",
        "! rm -f x",
        "env rm -f x",
        "env -i A=1 rm -f x",
        "sudo -u me rm -f x",
        "timeout -s KILL 5 rm -f x",
        "nice -n 5 timeout 3 rm -f x",
        "xargs -0 rm -f x",
        "bash -c 'rm -f x'",
        "/bin/sh -ec \"ls; rm -f x\"",
        "sudo bash -c 'env rm -f x'",
        "eval 'rm -f x'",
        "find . -name a -exec rm -f x ;",
        "r'm' -f \"x\"",
        "\\rm -f x",
        "cat <(rm -f x)",
        "ls & rm -f x",
        "f() { rm -f x; }; f",
        "rm \\\n -f x",
        "echo 'unclosed; $(rm -f x",
    ] {
        assert_found(text);
    }
}

#[test]
fn commands_are_found_where_a_shell_would_find_them() {
    for text in [
        "env -S 'rm -f x'",
        "env -S'rm -f x'",
        "env --split-string='rm -f x'",
        "echo ${x:-$(rm -f x)}",
        "echo \"${x:-`rm -f x`}\"",
        "2>/dev/null rm -f x",
        ">x rm -f x",
        "2>&1 rm -f x",
        "&>o rm -f x",
        "rm 2>/dev/null -f <in x >>out",
        "rm -f >|o x",
        "time -p rm -f x",
        "coproc rm -f x",
        "function f { rm -f x; }; f",
        "$'rm' -f x",
        "$'\\x72\\155' -f $'x'",
        "$\"rm\" -f x",
        "a[0]=1 rm -f x",
        "trap 'rm -f x' EXIT",
        "bash <<<'rm -f x'",
        "bash <<EOF\nrm -f x\nEOF",
        "setarch x86_64 rm -f x",
        "eval rm -f x",
        "watch -n1 'rm -f x'",
        "ssh host rm -f x",
        "ssh host 'rm -f x'",
        "flock lock -c 'rm -f x'",
        "flock lock rm -f x",
    ] {
        assert_found(text);
    }
}

#[track_caller]
fn assert_found(text: &str) {
    let found = find(text);
    let wanted = ["rm", "-f", "x"];
    let hit = |command: &Vec<String>| {
        command.len() >= 3 && command.iter().zip(wanted).all(|(a, b)| a == b)
    };
    let quoted_away = text.contains("unclosed");
    assert_eq!(found.commands.iter().any(hit), !quoted_away, "{text}: {found:?}");
}

#[test]
fn words_are_not_taken_for_commands() {
    for text in [
        "echo rm -f x",
        "git commit -m 'rm -f x'",
        "grep 'rm -f x' a",
        "find . -name rm",
        "cat <<<'rm -f x'",
        "cat < a rm",
    ] {
        let found = find(text);
        assert!(found.commands.iter().all(|command| command[0] != "rm"), "{text}: {found:?}");
    }
}

proptest! {
    #[test]
    fn nothing_panics(text in any::<String>()) {
        let _ = find(&text);
    }

    #[test]
    fn nor_on_what_looks_like_commands(text in r#"(sudo |bash -c |xargs |[a-c*?\[\]{}$`'"\\();|&<> \n]){0,40}"#) {
        let _ = find(&text);
    }

    #[test]
    fn every_part_that_the_strict_reader_sees_is_found(text in r#"([a-c]{1,3}|[ ;|&'"\n-]|&&){1,12}"#) {
        if let Ok(parts) = crate::policy::command::read(&text) {
            let found = find(&text);
            for part in parts {
                let words: Vec<String> = part.into_iter().map(|word| word.text).collect();
                prop_assert!(found.commands.contains(&words), "{text:?}: {words:?} {found:?}");
            }
        }
    }
}

#[test]
fn deep_and_long_texts_end() {
    let deep = "$(".repeat(50_000);
    let _ = find(&deep);
    assert!(find(&"sudo ".repeat(20_000)).cut);
    assert!(find(&"find -exec ".repeat(20_000)).cut);
    let _ = find(&"bash -c ".repeat(20_000));
    assert!(find(&"a;".repeat(300_000)).cut);
}
