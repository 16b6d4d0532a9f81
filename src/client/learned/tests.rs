use std::os::unix::fs::PermissionsExt;

use super::super::profile::Field;
use super::*;

const URL: &str = "http://127.0.0.1:1/v1";

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn dropped(field: Field) -> Facts {
    Facts { adjustments: vec![Adjustment::Drop(field)], window: None }
}

#[test]
fn facts_outlive_the_program_and_belong_to_one_place() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state/xsh");
    let mut learned = Learned::open(Some(&state), now());
    learned.learn(URL, "m", &dropped(Field::StreamOptions), now()).unwrap();
    learned.learn(URL, "m", &Facts { window: Some(9_000), ..Facts::default() }, now()).unwrap();
    learned.learn(URL, "m", &dropped(Field::ToolChoice), now()).unwrap();
    let again = Learned::open(Some(&state), now());
    let expected = Facts {
        adjustments: vec![
            Adjustment::Drop(Field::StreamOptions),
            Adjustment::Drop(Field::ToolChoice),
        ],
        window: Some(9_000),
    };
    assert_eq!(again.facts(URL, "m"), expected);
    assert_eq!(again.facts(URL, "other"), Facts::default());
    assert_eq!(again.facts("http://127.0.0.1:2/v1", "m"), Facts::default());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&state.join("learned.json")), mode(&state)), (0o600, 0o700));
    assert_eq!(fs::read_dir(&state).unwrap().count(), 1, "nothing temporary is left");
}

#[test]
fn the_newest_fact_overrules() {
    let mut learned = Learned::default();
    for null in [true, false, true] {
        let facts = Facts { adjustments: vec![Adjustment::NullContent(null)], window: None };
        learned.learn(URL, "m", &facts, now()).unwrap();
    }
    let last = learned.facts(URL, "m").adjustments.pop();
    assert_eq!(last, Some(Adjustment::NullContent(true)));
}

#[test]
fn damage_and_age_cost_only_what_they_touch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learned.json");
    let fresh = now().as_second() - 10;
    let stale = now().as_second() - FORGET_AFTER - 10;
    let cases = [
        (String::new(), 0),
        ("not JSON".to_owned(), 0),
        ("{\"places\": 7}".to_owned(), 0),
        (
            format!(
                r#"{{"places":[7,{{"base_url":"{URL}","model":"m","at":{fresh},"adjustments":["gone",{{"drop":"tool_choice"}},{{"drop":"unheard_of"}}]}}]}}"#
            ),
            1,
        ),
        (
            format!(
                r#"{{"places":[{{"base_url":"{URL}","model":"m","at":{stale},"adjustments":[{{"drop":"tool_choice"}}]}}]}}"#
            ),
            0,
        ),
    ];
    for (text, facts) in cases {
        fs::write(&path, &text).unwrap();
        let mut learned = Learned::open(Some(folder.path()), now());
        assert_eq!(learned.facts(URL, "m").adjustments.len(), facts, "{text}");
        learned.learn(URL, "n", &dropped(Field::StreamOptions), now()).unwrap();
        let again = Learned::open(Some(folder.path()), now());
        assert_eq!(again.facts(URL, "n").adjustments.len(), 1, "{text}");
        assert_eq!(again.facts(URL, "m").adjustments.len(), facts, "{text}");
    }
}

#[test]
fn two_programs_keep_each_others_facts_and_all_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = Learned::open(Some(folder.path()), now());
    let mut two = Learned::open(Some(folder.path()), now());
    one.learn(URL, "a", &dropped(Field::ToolChoice), now()).unwrap();
    two.learn(URL, "b", &dropped(Field::ToolChoice), now()).unwrap();
    let both = Learned::open(Some(folder.path()), now());
    assert_eq!([both.facts(URL, "a"), both.facts(URL, "b")].map(|f| f.adjustments.len()), [1, 1]);
    for place in 0..MAX_PLACES + 20 {
        one.learn(URL, &format!("m{place}"), &dropped(Field::ToolChoice), now()).unwrap();
    }
    let all = Learned::open(Some(folder.path()), now());
    assert_eq!(all.places.len(), MAX_PLACES);
    assert_eq!(all.facts(URL, "m0"), Facts::default(), "the oldest go first");
}
