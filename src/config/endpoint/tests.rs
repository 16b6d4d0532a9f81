use super::*;

#[test]
fn one_form_for_all_the_ways_to_write_a_base_url() {
    let cases = [
        ("https://x.example/v1", "https://x.example/v1"),
        ("https://x.example/v1/", "https://x.example/v1"),
        (" https://x.example/v1// ", "https://x.example/v1"),
        ("https://x.example/v1/chat/completions", "https://x.example/v1"),
        ("https://x.example/v1/chat/completions/", "https://x.example/v1"),
        ("https://X.Example:443/v1", "https://x.example/v1"),
        ("http://127.0.0.1:4567", "http://127.0.0.1:4567"),
        ("http://127.0.0.1:4567/", "http://127.0.0.1:4567"),
        ("http://[::1]:4567/v1", "http://[::1]:4567/v1"),
        ("http://localhost:11434", "http://localhost:11434/v1"),
        ("https://api.openai.com", "https://api.openai.com/v1"),
        ("https://api.openai.com/chat/completions", "https://api.openai.com/v1"),
        ("https://openrouter.ai/", "https://openrouter.ai/api/v1"),
        ("https://api.deepseek.com/v1", "https://api.deepseek.com/v1"),
        ("https://api.deepseek.com/", "https://api.deepseek.com"),
        ("https://api.z.ai/api/coding/paas/v4", "https://api.z.ai/api/coding/paas/v4"),
        ("https://r.openai.azure.com", "https://r.openai.azure.com/openai/v1"),
        ("https://r.openai.azure.com/openai/v1/", "https://r.openai.azure.com/openai/v1"),
    ];
    for (text, expected) in cases {
        assert_eq!(normalize(text).as_deref(), Ok(expected), "{text}");
        assert_eq!(normalize(expected).as_deref(), Ok(expected), "{expected} again");
    }
}

#[test]
fn what_is_no_base_url() {
    let cases = [
        ("", "relative URL"),
        ("x.example/v1", "relative URL"),
        ("localhost:8080", "http:// or https://"),
        ("ftp://x.example", "http:// or https://"),
        ("file:///etc/passwd", "http:// or https://"),
        ("https://key@x.example/v1", "XSH_API_KEY"),
        ("https://u:p@x.example/v1", "XSH_API_KEY"),
        ("https://api.deepseek.com@evil.example/", "XSH_API_KEY"),
        ("https://x.example/v1?api-version=1", "? or #"),
        ("https://x.example/v1#a", "? or #"),
        ("http://", "host"),
        ("http://a b/", "domain"),
    ];
    for (text, part) in cases {
        let error = normalize(text).unwrap_err();
        assert!(error.contains(part), "{text:?}: {error}");
    }
}

#[test]
fn what_lies_on_this_machine() {
    let cases = [
        ("http://localhost:1/v1", true),
        ("http://LOCALHOST", true),
        ("http://a.localhost/", true),
        ("http://127.0.0.1", true),
        ("http://127.1.2.3", true),
        ("http://[::1]:80", true),
        ("http://2130706433/", true),
        ("http://0.0.0.0", false),
        ("http://localhost.evil.example", false),
        ("http://127.0.0.1.evil.example", false),
        ("http://192.168.0.1", false),
        ("not a url", false),
    ];
    for (url, expected) in cases {
        assert_eq!(is_loopback(url), expected, "{url}");
    }
    assert!(is_exposed("http://10.0.0.1/v1"));
    assert!(!is_exposed("http://127.0.0.1/v1"));
    assert!(!is_exposed("https://10.0.0.1/v1"));
}

#[test]
fn what_ollama_host_means() {
    let cases = [
        ("127.0.0.1", Some("http://127.0.0.1:11434/v1")),
        ("0.0.0.0", Some("http://127.0.0.1:11434/v1")),
        ("0.0.0.0:8888", Some("http://127.0.0.1:8888/v1")),
        (":8888", Some("http://127.0.0.1:8888/v1")),
        ("box:8888", Some("http://box:8888/v1")),
        ("http://box:8888/", Some("http://box:8888/v1")),
        ("https://box.example", Some("https://box.example/v1")),
        ("[::1]:8888", Some("http://[::1]:8888/v1")),
        ("a b", None),
        ("", None),
    ];
    for (value, expected) in cases {
        assert_eq!(ollama_url(value).as_deref(), expected, "{value:?}");
    }
}
