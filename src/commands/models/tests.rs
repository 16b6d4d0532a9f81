use super::*;

#[test]
fn numbers_of_tokens_in_a_few_characters() {
    for (count, expected) in [
        (0, "0"),
        (8_192, "8192"),
        (10_000, "10k"),
        (131_072, "131k"),
        (999_999, "999k"),
        (1_000_000, "1M"),
        (1_048_576, "1.04M"),
        (1_500_000, "1.5M"),
        (10_000_000, "10M"),
    ] {
        assert_eq!(tokens(count), expected);
    }
}

#[test]
fn a_table_with_windows_and_the_model_in_use() {
    let listed = |id: &str, window, loaded| Listed {
        id: id.to_owned(),
        window,
        loaded,
        ..Listed::default()
    };
    let models = [
        listed("deepseek-flash", None, false),
        listed("模型", Some(4096), true),
        listed("a", None, false),
    ];
    let offer = Offer {
        provider: "deepseek",
        base_url: "https://api.deepseek.com",
        models: &models,
        current: Some("deepseek-flash"),
    };
    insta::assert_snapshot!(table(&offer), @r"
    deepseek at https://api.deepseek.com
      a                    ?
    * deepseek-flash      1M
      模型              4096  loaded
    ");
    let empty = table(&Offer { models: &[], ..offer });
    assert!(empty.contains("it lists no models"), "{empty}");
}
