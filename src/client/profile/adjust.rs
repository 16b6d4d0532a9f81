//! From a provider's row to what holds for one model at one endpoint.
//!
//! The row, then what the model's family is known to want, then what the endpoint itself was seen to
//! refuse: each step is a list of [`Adjustment`]s over flat data. What the user configured comes last
//! and is added where the request is built.

use serde::{Deserialize, Serialize};

use super::levels::Names;
use super::table::BASE;
use super::{
    Field, IdRule, ModelIds, OutLimit, Profile, Replay, SchemaLevel, Signatures, SystemRole, Turns,
};

/// One change of what is sent. The names are a file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Adjustment {
    /// The API lies below `/v1` of the base URL.
    BelowV1,
    /// Leave the field out.
    Drop(Field),
    /// The output limit goes under this name.
    OutLimit(OutLimit),
    /// Only these thinking levels are accepted.
    Levels(Names),
    /// `reasoning_effort: none` beside tools.
    NoEffortWithTools,
    /// The system prompt goes under this role.
    System(SystemRole),
    /// Every assistant message has `reasoning_content`.
    ReasoningEverywhere,
    /// Split-off reasoning goes back into the content.
    ThinkBack,
    /// Calls need a signature.
    Signatures,
    /// Tool results carry the tool's name.
    ToolNames,
    /// Call ids have this form.
    Ids(IdRule),
    /// Something has to stand between messages.
    Turns(Turns),
    /// Beside calls, empty content is `null`, or is not.
    NullContent(bool),
    /// Tool schemas are stripped to this level.
    Schemas(SchemaLevel),
}

impl Adjustment {
    /// Makes the change.
    pub fn apply(self, profile: &mut Profile) {
        match self {
            Self::BelowV1 => profile.below_v1 = true,
            Self::Drop(Field::Replay) => profile.replay = Replay::Never,
            Self::Drop(field) => profile.without.insert(field),
            Self::OutLimit(limit) => profile.out_limit = limit,
            Self::Levels(names) => profile.only_levels = names,
            Self::NoEffortWithTools => profile.no_effort_with_tools = true,
            Self::System(role) => profile.system_role = role,
            Self::ReasoningEverywhere => profile.replay = Replay::Always,
            Self::ThinkBack => profile.think_back = true,
            Self::Signatures => profile.signatures = Signatures::Demanded,
            Self::ToolNames => profile.tool_name = true,
            Self::Ids(rule) => profile.id_rule = rule,
            Self::Turns(turns) => profile.turns = profile.turns.max(turns),
            Self::NullContent(null) => profile.null_content = null,
            Self::Schemas(level) => profile.schemas = level,
        }
    }

    /// True where a model family's wish may change this row: a row's own rule is the stronger one.
    fn is_open_in(self, row: &Profile) -> bool {
        let reasoning = matches!(self, Self::ReasoningEverywhere | Self::ThinkBack);
        let ids = matches!(self, Self::Ids(_));
        !(reasoning && row.replay != BASE.replay || ids && row.id_rule != BASE.id_rule)
    }

    /// The change in words, for the user.
    pub fn describe(self) -> String {
        match self {
            Self::BelowV1 => "the API is below /v1 of the base URL".to_owned(),
            Self::Drop(field) => format!("left out {}", field.name()),
            Self::OutLimit(limit) => format!("the output limit is sent as {}", limit.name()),
            Self::Levels(names) => format!("thinking levels here: {names}"),
            Self::NoEffortWithTools => "no thinking beside tools".to_owned(),
            Self::System(role) => format!("the system prompt goes under the role {}", role.name()),
            Self::ReasoningEverywhere => "reasoning goes back with every answer".to_owned(),
            Self::ThinkBack => "reasoning goes back inside the text".to_owned(),
            Self::Signatures => "calls go back with a signature".to_owned(),
            Self::ToolNames => "tool results carry the tool's name".to_owned(),
            Self::Ids(_) => "call ids are rewritten".to_owned(),
            Self::Turns(_) => "a short answer is put between messages".to_owned(),
            Self::NullContent(true) => "empty content is sent as null".to_owned(),
            Self::NullContent(false) => "null content is sent as empty text".to_owned(),
            Self::Schemas(_) => "tool schemas are simplified".to_owned(),
        }
    }
}

/// Models that want the same wherever they are served.
struct Family {
    /// Their ids begin with one of these, behind the last slash and in lower case.
    ids: &'static [&'static str],
    /// What they want at hosts that serve models of many makers.
    wants: &'static [Adjustment],
}

const FAMILIES: &[Family] = &[
    Family { ids: &["deepseek-v4", "deepseek-flash"], wants: &[Adjustment::ReasoningEverywhere] },
    Family { ids: &["kimi-k"], wants: &[Adjustment::ReasoningEverywhere] },
    Family { ids: &["glm-"], wants: &[] },
    Family { ids: &["qwen"], wants: &[] },
    Family { ids: &["minimax-m"], wants: &[Adjustment::ThinkBack] },
    Family { ids: &["gpt-oss"], wants: &[Adjustment::Levels(Names::UP_TO_HIGH)] },
    Family {
        ids: &["mistral", "magistral", "ministral", "devstral"],
        wants: &[Adjustment::Ids(IdRule::Mistral9), Adjustment::Turns(Turns::NoUserAfterTool)],
    },
    Family {
        ids: &["gemini-"],
        wants: &[Adjustment::ToolNames, Adjustment::Schemas(SchemaLevel::Bare)],
    },
    Family { ids: &["claude-"], wants: &[Adjustment::Ids(IdRule::Plain)] },
];

fn family_of(model: &str) -> Option<&'static Family> {
    let id = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    FAMILIES.iter().find(|family| family.ids.iter().any(|start| id.starts_with(start)))
}

/// True when the two are of one family, or the very same model. Members of a family understand each
/// other's reasoning.
pub fn same_family(a: &str, b: &str) -> bool {
    a == b || family_of(a).zip(family_of(b)).is_some_and(|(a, b)| std::ptr::eq(a, b))
}

/// What holds for this model: the row, its family's wishes, what was learned.
pub fn effective(row: &Profile, model: &str, learned: &[Adjustment]) -> Profile {
    let mut profile = *row;
    if row.model_ids != ModelIds::Plain {
        let wants = family_of(model).map_or(&[][..], |family| family.wants);
        for want in wants.iter().filter(|want| want.is_open_in(row)) {
            want.apply(&mut profile);
        }
    }
    for adjustment in learned {
        adjustment.apply(&mut profile);
    }
    profile
}

#[cfg(test)]
mod tests;
