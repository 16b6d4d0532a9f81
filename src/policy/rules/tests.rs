use std::path::PathBuf;

use super::*;

const TOOLS: &[&str] = &["glob", "grep", "read", "write", "edit", "shell"];

pub(in crate::policy) fn load(rules: &[(List, &str)]) -> Result<Rules, Error> {
    let file = PathBuf::from("/home/me/config.toml");
    let written: Vec<_> = rules
        .iter()
        .zip(1..)
        .map(|((list, text), line)| Written {
            list: *list,
            text: (*text).to_owned(),
            place: Place::File(file.clone(), line),
        })
        .collect();
    Rules::load(&written, Ground { tools: TOOLS, roots: &roots() })
}

pub(in crate::policy) fn roots() -> Vec<PathBuf> {
    vec!["/work".into(), "/extra".into()]
}

pub(in crate::policy) fn target(real: &str) -> Target {
    Target::new(Path::new(real), &roots())
}

#[test]
fn a_rule_that_can_never_match_is_an_error() {
    use List::{Allow, Ask, Deny};
    for (rules, why) in [
        (&[(Allow, "bash")][..], "there is no tool `bash`"),
        (&[(Deny, "")], "there is no tool ``"),
        (&[(Deny, "Bash")], "did you mean `shell`"),
        (&[(Deny, "raed")], "did you mean `read`"),
        (&[(Deny, "Clock")], "there is no tool `Clock`"),
        (&[(Allow, "clock(*)")], "takes no pattern"),
        (&[(Deny, "clock"), (Allow, "clock")], "goes before"),
        (&[(Deny, "shell(ls")], "bracket"),
        (&[(Deny, "shell()")], "empty"),
        (&[(Allow, "read( )")], "empty"),
        (&[(Allow, "shell(a * b)")], "last word"),
        (&[(Allow, "shell(cargo*)")], "wildcard in the command's name"),
        (&[(Allow, "shell(cargo te*)")], "last word"),
        (&[(Allow, "shell(*)")], "wildcard in the command's name"),
        (&[(Allow, "shell(a && b)")], "several"),
        (&[(Deny, "shell(a > b)")], "redirection"),
        (&[(Deny, "shell(X=1 a)")], "variable"),
        (&[(Deny, "read(../x)")], "`..`"),
        (&[(Deny, "read(a/../../x)")], "`..`"),
        (&[(Deny, "read(~/x)")], "`~`"),
        (&[(Deny, "read(!x)")], "`!`"),
        (&[(Deny, "read(/)")], "names no file"),
        (&[(Deny, "read(./)")], "names no file"),
        (&[(Allow, "edit(.xsh/config.toml)")], ".xsh"),
        (&[(Allow, "edit(a{b)")], "pattern"),
        (&[(Deny, "shell(rm *)"), (Allow, "shell(rm -f x)")], "goes before"),
        (&[(Deny, "shell"), (Ask, "shell(ls)")], "goes before"),
        (&[(Ask, "shell(rm *)"), (Allow, "shell(rm *)")], "goes before"),
        (&[(Deny, "write"), (Allow, "write")], "goes before"),
        (&[(Deny, "read(secrets/**)"), (Allow, "edit(/secrets/a)")], "goes before"),
    ] {
        let error = load(rules).expect_err(&format!("{rules:?}"));
        let text = format!("{error}");
        assert!(text.contains(why) && text.contains("line"), "{rules:?}: {text}");
        assert_eq!(error.exit, crate::error::Exit::Usage);
    }
}

#[test]
fn a_flag_may_overrule_the_configuration() {
    use List::{Allow, Deny};
    let file = || Place::File("/home/me/config.toml".into(), 1);
    let flag = || Place::Flag("--disallowed-tools");
    for (over, under, fits) in
        [(flag(), file(), true), (file(), flag(), true), (flag(), flag(), false)]
    {
        let rule = |list, text: &str, place| Written { list, text: text.to_owned(), place };
        let rules = [rule(Allow, "shell(touch one)", under), rule(Deny, "shell", over)];
        let loaded = Rules::load(&rules, Ground { tools: TOOLS, roots: &roots() });
        assert_eq!(loaded.is_ok(), fits, "{rules:?}");
    }
}

#[test]
fn the_rest_is_understood() {
    use List::{Allow, Ask, Deny};
    load(&[
        (Allow, "read"),
        (Allow, "shell( git status )"),
        (Allow, "shell(cargo test *)"),
        (Allow, "shell(git commit -m 'a (b), c')"),
        (Deny, "read(.env)"),
        (Deny, "edit(secrets/**)"),
        (Ask, "write(*.sql)"),
        (Allow, "edit(//work/a.txt)"),
        (Deny, "read(//home/other/x)"),
        (Deny, "shell(rm *)"),
        (Ask, "shell(rm -rf *)"),
    ])
    .expect_err("the last is hidden by the one before");
    let rules = load(&[(Deny, "read(//home/other/x)"), (Allow, "read")]).expect("understood");
    assert_eq!(rules.written().len(), 1, "about another workspace");
    let flag = Written {
        list: Deny,
        text: "read(//home/other/x)".into(),
        place: Place::Flag("--disallowed-tools"),
    };
    assert!(Rules::load(&[flag], Ground { tools: TOOLS, roots: &roots() }).is_err());
}

#[test]
fn paths_match_as_git_ignores() {
    for (pattern, path, expected) in [
        (".env", "/work/.env", true),
        (".env", "/work/a/b/.env", true),
        (".env", "/extra/.env", true),
        (".env", "/work/.ENV", true),
        (".env", "/work/.env.local", false),
        (".env", "/elsewhere/.env", false),
        ("/a.txt", "/work/a.txt", true),
        ("./a.txt", "/work/a.txt", true),
        ("/a.txt", "/work/b/a.txt", false),
        ("secrets/**", "/work/secrets/a/b", true),
        ("secrets/**", "/work/secrets", false),
        ("secrets/", "/work/secrets/a/b", true),
        ("secrets", "/work/x/secrets/a", true),
        ("*.pem", "/work/x/y.pem", true),
        ("//work/x/*.key", "/work/x/y.key", true),
        ("//work/x/*.key", "/work/z/y.key", false),
        ("a b.txt", "/work/a b.txt", true),
    ] {
        let rules = load(&[(List::Deny, &format!("edit({pattern})"))]).expect(pattern);
        let closed = PathRules::of(&rules, &roots(), true);
        assert_eq!(closed.denying(Path::new(path)).is_some(), expected, "{pattern} {path}");
    }
    let rules = load(&[(List::Deny, "read(*)")]).expect("a rule");
    let closed = PathRules::of(&rules, &roots(), true);
    assert_eq!(closed.denying(Path::new("/work")), None, "the workspace itself is no file in it");
}

#[test]
fn forbidding_looks_behind_folders_wrappers_and_options() {
    for (pattern, command, expected) in [
        ("rm *", "rm", true),
        ("rm *", "rm -rf x", true),
        ("rm *", "/bin/rm x", true),
        ("rm *", "sudo /bin/rm x", true),
        ("rm *", "rmdir x", false),
        ("rm *", "echo rm x", false),
        ("rm", "rm x", false),
        ("git push *", "git push", true),
        ("git push *", "git -C x push origin", true),
        ("git push *", "git -c a=b --no-pager push", true),
        ("git push *", "git commit -m push", false),
        ("git push *", "git commit -m 'git push'", false),
        ("git push --force *", "git push --force origin", true),
        ("curl *", "X=1 curl y", true),
        ("curl *", "cat $(curl y) > z", true),
        ("curl *", "bash -c \"curl y\"", true),
    ] {
        let rules = load(&[(List::Deny, &format!("shell({pattern})"))]).expect(pattern);
        let action = Action { tool: "shell", kind: Kind::Exec { command, leave: None } };
        let found = rules.forbidding(List::Deny, &action).is_some();
        assert_eq!(found, expected, "{pattern}: {command}");
    }
}
