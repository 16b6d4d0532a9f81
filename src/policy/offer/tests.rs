use super::*;
use crate::policy::rules::tests::{load, roots, target};

const TOOLS: &[&str] = &["glob", "grep", "read", "write", "edit", "shell"];

fn offered(rules: &Rules, action: &Action<'_>) -> String {
    let roots = roots();
    let tools = [TOOLS, &["clock"]].concat();
    let ground = Ground { tools: &tools, roots: &roots };
    let masks = Masks::new([("K".to_owned(), "hunter2-hunter2".to_owned())]);
    let Decision::Ask(why) = decide(Mode::Ask, rules, &Strength::Full, action) else {
        return "not asked".to_owned();
    };
    match offer(rules, ground, &masks, action, &why) {
        None => "nothing".to_owned(),
        Some(Offer::Keep(rules)) => format!("keep {}", rules.join(" + ")),
        Some(Offer::Session(rules)) => format!("session {}", rules.join(" + ")),
        Some(Offer::Leave(command)) => format!("leave {command}"),
    }
}

#[test]
fn the_narrowest_rule_is_offered_and_never_a_secret() {
    let rules = load(&[
        (List::Allow, "shell(cargo test *)"),
        (List::Ask, "shell(rm *)"),
        (List::Deny, "read(.env)"),
    ]);
    let rules = rules.expect("rules");
    for (command, expected) in [
        ("touch made.txt", "keep shell(touch made.txt)"),
        ("make 2>&1", "keep shell(make)"),
        ("cargo test x && make a && ls", "keep shell(make a)"),
        ("a 1; b 2; c 3", "keep shell(a 1) + shell(b 2) + shell(c 3)"),
        ("a; b; c; d", "nothing"),
        ("git commit -m 'fix; it'", "keep shell(git commit -m 'fix; it')"),
        ("echo 'a*'", "keep shell(echo 'a*')"),
        ("echo ')'", "keep shell(echo ')')"),
        ("ls *.rs", "nothing"),
        ("rm x", "nothing"),
        ("cat .env", "nothing"),
        ("echo $X", "nothing"),
        ("TOKEN=s3cr3t curl x", "nothing"),
        ("env TOKEN=s3cr3t curl x", "session shell(env TOKEN=s3cr3t curl x)"),
        ("env A=b curl x", "session shell(env A=b curl x)"),
        ("curl -u me:pw x", "session shell(curl -u me:pw x)"),
        ("curl https://me:pw@h/x", "session shell(curl https://me:pw@h/x)"),
        ("curl -H 'Authorization: x' y", "session shell(curl -H 'Authorization: x' y)"),
        ("x hunter2-hunter2", "session shell(x hunter2-hunter2)"),
        ("x ghp_0123456789", "session shell(x ghp_0123456789)"),
        ("x a1b2c3d4e5f6a7b8c9d0e1", "session shell(x a1b2c3d4e5f6a7b8c9d0e1)"),
        ("mkdir -p a/b", "keep shell(mkdir -p a/b)"),
    ] {
        let action = Action { tool: "shell", kind: Kind::Exec { command, leave: None } };
        assert_eq!(offered(&rules, &action), expected, "{command}");
    }
    for (path, expected) in [
        ("/work/src/main.rs", "keep edit(//work/src/main.rs)"),
        ("/work/a [b]*.rs", r"keep edit(//work/a \[b\]\*.rs)"),
        ("/work/.git/config", "nothing"),
        ("/work/a\nb", "nothing"),
    ] {
        let target = target(path);
        let action = Action { tool: "write", kind: Kind::Write(&target) };
        assert_eq!(offered(&rules, &action), expected, "{path}");
    }
    for (command, expected) in [("make", "leave make"), ("make $X", "nothing")] {
        let action = Action { tool: "shell", kind: Kind::Exec { command, leave: Some("x") } };
        assert_eq!(offered(&rules, &action), expected, "{command}");
    }
}

#[test]
fn a_user_defined_tool_is_offered_by_its_name() {
    let action =
        Action { tool: "clock", kind: Kind::Exec { command: "/c/clock < {}", leave: None } };
    assert_eq!(offered(&Rules::default(), &action), "session clock");
    let Decision::Ask(why) = decide(Mode::Ask, &Rules::default(), &Strength::Full, &action) else {
        panic!("not asked");
    };
    assert_eq!(why.text(Mode::Ask), "mode ask asks before this");
}

proptest::proptest! {
    #[test]
    fn what_is_offered_works(command in r#"[a-c*'" ;|&.]{1,16}"#) {
        let rules = load(&[(List::Allow, "shell(a *)")]).expect("rules");
        let action = Action { tool: "shell", kind: Kind::Exec { command: &command, leave: None } };
        if let Some(texts) = offered(&rules, &action).strip_prefix("keep ") {
            let mut all: Vec<_> = texts.split(" + ").map(|text| (List::Allow, text)).collect();
            all.push((List::Allow, "shell(a *)"));
            let with = load(&all).expect("the offer is a rule");
            let decision = decide(Mode::Ask, &with, &Strength::Full, &action);
            proptest::prop_assert!(matches!(decision, Decision::Allow(_)));
        }
    }
}
