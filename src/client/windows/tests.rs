use super::*;

#[test]
fn where_the_server_is() {
    for (base, expected) in [
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434"),
        ("http://127.0.0.1:4000", "http://127.0.0.1:4000"),
        ("http://127.0.0.1:12434/engines/v1", "http://127.0.0.1:12434"),
        ("https://gw.example/llm/v1", "https://gw.example/llm"),
    ] {
        assert_eq!(root(base), expected);
    }
}

#[test]
fn which_of_the_listed_models_it_is() {
    let listed = |id: &str, window| Listed { id: id.to_owned(), window, ..Listed::default() };
    let two = [listed("a:latest", Some(1)), listed("b", Some(2))];
    let one = [listed("whatever.gguf", Some(3))];
    for (models, model, local, expected) in [
        (&two[..], "a", true, Some(1)),
        (&two[..], "b", false, Some(2)),
        (&two[..], "c", true, None),
        (&one[..], "my-model", true, Some(3)),
        (&one[..], "my-model", false, None),
        (&[][..], "a", true, None),
    ] {
        let window = pick(models, model, local).and_then(|listed| listed.window);
        assert_eq!(window, expected, "{model}");
    }
}
