use super::*;
use clap::ValueEnum;

#[test]
fn every_shell_gets_a_script_that_knows_flags_and_commands() {
    for shell in clap_complete::Shell::value_variants() {
        let script = String::from_utf8(completions(*shell)).unwrap();
        for word in ["permission-mode", "doctor", "bypass"] {
            let expected = word != "bypass";
            assert_eq!(script.contains(word), expected, "{word} for {shell}");
        }
    }
}

#[test]
fn the_manual_page_is_roff_and_names_the_flags() {
    let page = String::from_utf8(man().unwrap()).unwrap();
    assert!(page.contains(".TH xsh 1"), "{page}");
    assert!(page.contains("\\-\\-permission\\-mode"), "{page}");
    assert!(page.contains("completions"), "{page}");
}
