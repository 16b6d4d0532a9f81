use super::*;

/// `id window output` of each model, with `-` for what is not told.
fn listed(body: &str) -> Vec<String> {
    let number = |n: Option<u64>| n.map_or("-".to_owned(), |n| n.to_string());
    let show = |m: &Listed| format!("{} {} {}", m.id, number(m.window), number(m.max_output));
    parse(body.as_bytes()).unwrap().iter().map(show).collect()
}

#[test]
fn every_shape_of_a_listing() {
    let cases: &[(&str, &[&str])] = &[
        (r#"{"object":"list","data":[{"id":"a","object":"model"}]}"#, &["a - -"]),
        (r#"[{"id":"a/b","context_length":131072,"pricing":{}}]"#, &["a/b 131072 -"]),
        (
            r#"{"data":[{"id":"a","context_window":8192,"max_completion_tokens":1024}]}"#,
            &["a 8192 1024"],
        ),
        (r#"{"data":[{"id":"a","max_model_len":4096}]}"#, &["a 4096 -"]),
        (r#"{"data":[{"id":"a","max_context_length":32768}]}"#, &["a 32768 -"]),
        (r#"{"data":[{"id":"a","max_input_tokens":5,"max_output_tokens":6}]}"#, &["a 5 6"]),
        (r#"{"data":[{"id":"a","limit":{"context":7,"output":8}}]}"#, &["a 7 8"]),
        (r#"[{"id":"a","limits":{"max_input_tokens":9,"max_output_tokens":10}}]"#, &["a 9 10"]),
        (r#"{"data":[{"id":"a","meta":{"n_ctx":11,"n_ctx_train":99}}]}"#, &["a 11 -"]),
        (r#"{"data":[{"id":"a","meta":null}]}"#, &["a - -"]),
        (
            r#"{"data":[{"id":"a","top_provider":{"context_length":12,"max_completion_tokens":null}}]}"#,
            &["a 12 -"],
        ),
        (
            r#"{"data":[{"id":"a","capabilities":{"limits":{"max_context_window_tokens":13}}}]}"#,
            &["a 13 -"],
        ),
        (r#"{"data":[{"id":"a","context_length":"14"}]}"#, &["a 14 -"]),
        (r#"{"data":[{"id":"a","context_length":0}]}"#, &["a - -"]),
        (r#"{"data":[{"id":"a","context_length":null,"max_model_len":15}]}"#, &["a 15 -"]),
        (
            r#"{"data":[{"id":"a","loaded_context_length":16,"max_context_length":99}]}"#,
            &["a 16 -"],
        ),
        (r#"{"models":[{"name":"models/gemini-x"},{"key":"k"}]}"#, &["gemini-x - -", "k - -"]),
        (r#"{"data":["a","b","a"]}"#, &["a - -", "b - -"]),
        (r#"{"data":[{"id":""},{},null,7]}"#, &[]),
        (r#"{"data":[]}"#, &[]),
    ];
    for (body, expected) in cases {
        assert_eq!(listed(body), *expected, "{body}");
    }
}

#[test]
fn what_is_no_listing_is_told_in_the_providers_words() {
    let cases = [
        ("<html>", "it is not JSON"),
        ("", "it is not JSON"),
        (r#"{"error":{"message":"bad key"}}"#, "bad key"),
        (r#"{"error":"bad key"}"#, "bad key"),
        (r#"{"detail":"Not Found"}"#, "Not Found"),
        (r#"{"base_resp":{"status_msg":"login fail"}}"#, "login fail"),
        ("{}", "neither `data` nor `models`"),
        ("7", "neither `data` nor `models`"),
    ];
    for (body, part) in cases {
        let error = parse(body.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(part), "{body}: {error}");
    }
}

#[test]
fn local_servers_tell_the_effective_window_elsewhere() {
    let model = |id: &str| Listed { id: id.to_owned(), window: Some(99), ..Listed::default() };
    let refined = |details: &str| {
        let mut models = vec![model("a"), model("b")];
        refine(&mut models, &serde_json::from_str(details).unwrap());
        models.into_iter().map(|m| (m.window, m.loaded)).collect::<Vec<_>>()
    };
    let ollama = r#"{"models":[{"name":"b","model":"b","context_length":4096}]}"#;
    assert_eq!(refined(ollama), [(Some(99), false), (Some(4096), true)]);
    let studio = r#"{"data":[{"id":"a","state":"loaded","loaded_context_length":8192},{"id":"b","state":"not-loaded","type":"embeddings"}]}"#;
    assert_eq!(refined(studio), [(Some(8192), true), (Some(99), false)]);
    let llama = r#"{"default_generation_settings":{"n_ctx":2048}}"#;
    assert_eq!(refined(llama), [(Some(2048), true), (Some(2048), true)]);
    assert_eq!(refined("{}"), [(Some(99), false), (Some(99), false)]);
}

#[test]
fn prices_in_their_shapes() {
    let told = |entry: &str| {
        let models = parse(format!(r#"[{{"id":"m",{entry}}}]"#).as_bytes()).unwrap();
        models[0].price.map(|p| [p.input, p.output, p.cached].map(f64::round))
    };
    for (entry, expected) in [
        (
            r#""pricing":{"prompt":"0.000002","completion":"0.00001","input_cache_read":"0.000001"}"#,
            Some([2.0, 10.0, 1.0]),
        ),
        (r#""pricing":{"input":3,"output":5}"#, Some([3.0, 5.0, 3.0])),
        (
            r#""model_info":{"input_cost_per_token":4e-6,"output_cost_per_token":8e-6}"#,
            Some([4.0, 8.0, 4.0]),
        ),
        (r#""pricing":{"prompt":"-1","completion":"-1"}"#, None),
        (r#""pricing":{"prompt":"much","completion":"more"}"#, None),
        (r#""pricing":{"input":3}"#, None),
        (r#""pricing":null"#, None),
    ] {
        assert_eq!(told(entry), expected, "{entry}");
    }
}
