//! The desk where models are looked up: by a name that was typed, in a list, or in a session's log.
//!
//! It keeps what the program started with (home), because a key that belongs there stays there, and
//! the endpoints that were used or found since. What a switch does to a session is the agent's
//! business.

pub mod connect;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::agent::Mind;
use crate::cli::Args;
use crate::client::discover::listing::Listed;
use crate::client::discover::{self, Server};
use crate::client::profile::Effort;
use crate::client::profile::models::{self, Price};
use crate::config::resolve::{self, World};
use crate::config::{Choice, Config, Endpoint, Here, Origin, Setting};
use crate::error::Error;
use crate::event::ModelChanged;
use crate::update::Update;

/// How long the provider in use may take to list its models.
const LIST_WITHIN: Duration = Duration::from_secs(3);
/// Models of one provider that are listed at most.
const LISTED: usize = 40;

/// See the module.
pub struct Desk {
    args: Args,
    world: World,
    home: Config,
    /// By the provider's name.
    places: BTreeMap<String, Endpoint>,
    offers: Vec<Offer>,
    /// Everything that the provider in use listed, by the provider's name.
    offered: (String, Vec<String>),
}

/// A model that can be switched to.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// The provider's name.
    pub provider: String,
    /// The model's id.
    pub model: String,
    /// Its window in tokens, where known.
    pub window: Option<u64>,
    /// What it costs, where known.
    pub price: Option<Price>,
    /// It is in memory already.
    pub loaded: bool,
    /// Where it was found; none = where its provider's name leads.
    pub place: Option<Endpoint>,
}

/// What `/model` shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// In the order of their numbers, which begin with 1.
    pub offers: Vec<Offer>,
    /// What is missing from it, and why.
    pub notes: Vec<String>,
}

impl Desk {
    /// `home` is the configuration of the start.
    pub fn new(args: Args, world: World, home: Config) -> Self {
        let offered = (String::new(), Vec::new());
        Self { args, world, home, places: BTreeMap::new(), offers: Vec::new(), offered }
    }

    /// The model that is configured.
    pub fn home(&self) -> Result<Mind, Error> {
        connect::mind(&self.home, &self.args)
    }

    /// What was typed behind `/model`: a number of the last list, `MODEL`, `PROVIDER/MODEL` or
    /// `PROVIDER`. `now` is the provider in use.
    pub fn find(&mut self, now: &str, name: &str) -> Result<Mind, Error> {
        let config = match self.listed(now, name)? {
            Some(offer) => self.taken(&offer)?,
            None => self.named(self.place(now), name)?,
        };
        self.reach(config)
    }

    /// The offer that a number or a name of the last list means.
    fn listed(&self, now: &str, name: &str) -> Result<Option<Offer>, Error> {
        if let Ok(number) = name.parse::<usize>() {
            let offer = number.checked_sub(1).and_then(|index| self.offers.get(index));
            return match offer {
                Some(offer) => Ok(Some(offer.clone())),
                None => Err(Error::usage(format!("there is no model {number} in the list"), "")
                    .help("/model shows the list")),
            };
        }
        let is = |offer: &&Offer| {
            (offer.provider == now && offer.model == name) || offer.full_name() == name
        };
        let own = self.offers.iter().find(is);
        let mut same = self.offers.iter().filter(|offer| offer.model == name);
        let only = same.next().filter(|_| same.next().is_none() && !self.is_offered(now, name));
        Ok(own.or(only).cloned())
    }

    fn is_offered(&self, provider: &str, model: &str) -> bool {
        self.offered.0 == provider && self.offered.1.iter().any(|id| id == model)
    }

    fn taken(&self, offer: &Offer) -> Result<Config, Error> {
        let mut config = match &offer.place {
            Some(place) => {
                let offered = [offer.model.clone()];
                let here = Here { home: Some(place), now: Some(place), offered: &offered };
                resolve::switch(&self.args, &self.world, &here, &offer.model)?
            }
            None => self.named(None, &offer.full_name())?,
        };
        if let Some(window) = offer.window {
            config.learn_window(window);
        }
        let price = offer.price.map(|price| Setting::new(price, Origin::Discovered));
        config.price = config.price.or(price);
        Ok(config)
    }

    fn named(&self, now: Option<&Endpoint>, name: &str) -> Result<Config, Error> {
        let is_now = now.is_some_and(|now| now.provider.value == self.offered.0);
        let offered = if is_now { &self.offered.1[..] } else { &[] };
        let here = Here { home: self.home.endpoint.as_ref(), now, offered };
        resolve::switch(&self.args, &self.world, &here, name)
    }

    fn place(&self, provider: &str) -> Option<&Endpoint> {
        let home = self.home.endpoint.as_ref();
        home.filter(|home| home.provider.value == provider).or_else(|| self.places.get(provider))
    }

    /// The model to go on with in a session that another one may have answered last, and what to
    /// tell about it. What is said today wins; where nothing is said, the session's model goes on.
    pub fn mind_for(&mut self, recorded: &ModelChanged) -> Result<(Mind, Option<Update>), Error> {
        let ModelChanged { provider, model, .. } = recorded;
        let last = format!("{model} ({provider})");
        let is_last = |mind: &Mind| mind.name == *model && mind.provider == *provider;
        if let Some(origin) = self.said(provider) {
            let mind = self.home()?;
            let note = format!("{last} answered here last; now it is {}, by {origin}", mind.name);
            let told = (!is_last(&mind)).then_some(Update::Note(note));
            return Ok((mind, told));
        }
        let found = self.named(None, &format!("{provider}/{model}"));
        match found.and_then(|config| self.reach(config)) {
            Ok(mind) => {
                let usual = self.home().is_ok_and(|home| is_last(&home));
                let note = format!("going on with {last}, as in this session");
                Ok((mind, (!usual).then_some(Update::Note(note))))
            }
            Err(error) => {
                let mind = self.home()?;
                let name = &mind.name;
                let note = format!("{last} answered here last; now it is {name}: {}", error.what);
                Ok((mind, Some(Update::Warning(note))))
            }
        }
    }

    /// The model of a configuration, whose endpoint is known from here on.
    fn reach(&mut self, config: Config) -> Result<Mind, Error> {
        let mind = connect::mind(&config, &self.args)?;
        self.places.extend(config.endpoint.map(|place| (place.provider.value.clone(), place)));
        Ok(mind)
    }

    /// What was said today about the model, if anything was. An endpoint alone does not decide the
    /// model of a session that was there already.
    fn said(&self, provider: &str) -> Option<Origin> {
        let is_said = |origin: &Origin| match origin {
            Origin::Flag(_) | Origin::Project(_) | Origin::User(_) => true,
            Origin::Environment(name) => name.starts_with("XSH_"),
            Origin::Preset(_) | Origin::Typed | Origin::Discovered | Origin::Default => false,
        };
        let model = self.home.model.as_ref().map(|model| &model.origin);
        let place = self.home.endpoint.as_ref().filter(|e| e.provider.value != provider);
        let places = place.into_iter().flat_map(|e| [&e.base_url.origin, &e.provider.origin]);
        model.into_iter().chain(places).find(|origin| is_said(origin)).cloned()
    }

    /// The thinking level of a session, where none is said today.
    pub fn recorded_effort(&self, recorded: Option<&ModelChanged>) -> Option<Effort> {
        let name = recorded?.effort.as_deref()?;
        Effort::parse(name).filter(|_| self.home.effort.is_none())
    }

    /// Lists what can be switched to: the models of the provider in use, the known ones of other
    /// providers whose keys are there, and those of servers on this machine.
    pub async fn list(&mut self, now: &str) -> Listing {
        let place = self.place(now).cloned();
        let own = async {
            match &place {
                Some(place) => connect::list_within(LIST_WITHIN, place, &self.home).await,
                None => Ok(Vec::new()),
            }
        };
        let servers = discover::find(self.home.ollama_host.as_deref());
        let (own, servers) = futures_util::future::join(own, servers).await;
        let mut listing = Listing::default();
        if let Some(place) = &place {
            self.list_own(place, own, &mut listing);
        }
        self.list_others(now, &mut listing);
        for server in &servers {
            self.list_server(server, &mut listing);
        }
        self.offers.clone_from(&listing.offers);
        listing
    }

    fn list_own(
        &mut self,
        place: &Endpoint,
        listed: Result<Vec<Listed>, Error>,
        listing: &mut Listing,
    ) {
        let provider = &place.provider.value;
        let listed = listed.unwrap_or_else(|error| {
            listing.notes.push(format!("{provider} lists nothing: {}", error.why));
            Vec::new()
        });
        let mut offers: Vec<Offer> =
            listed.iter().filter(|l| l.is_chat()).map(|l| Offer::of(place, l)).collect();
        if offers.is_empty() {
            offers = known(provider, Some(place));
        }
        offers.sort_by(|a, b| a.model.cmp(&b.model));
        let ids = offers.iter().map(|offer| offer.model.clone()).collect();
        self.offered = (provider.clone(), ids);
        let more = offers.len().saturating_sub(LISTED);
        if more > 0 {
            listing.notes.push(format!("{provider} has {more} more; Tab completes their names"));
        }
        listing.offers.extend(offers.into_iter().take(LISTED));
    }

    fn list_others(&self, now: &str, listing: &mut Listing) {
        for choice in self.others(now) {
            let mut offers = known(&choice.provider, None);
            if offers.is_empty() {
                offers.extend(choice.model.map(|model| Offer::new(&choice.provider, &model)));
            }
            if offers.is_empty() {
                listing
                    .notes
                    .push(format!("{0} can be used too: /model {0}/MODEL", choice.provider));
            }
            listing.offers.extend(offers);
        }
    }

    /// Providers that could be asked, apart from the one in use.
    fn others(&self, now: &str) -> Vec<Choice> {
        let mut others = resolve::providers(&self.args, &self.world);
        if let Some(home) = &self.home.endpoint {
            let (provider, sign) = (home.provider.value.clone(), home.base_url.value.clone());
            if others.iter().all(|other| other.provider != provider) {
                let model = self.home.model.as_ref().map(|model| model.value.clone());
                others.insert(0, Choice { provider, model, sign });
            }
        }
        others.retain(|other| other.provider != now);
        others
    }

    fn list_server(&mut self, server: &Server, listing: &mut Listing) {
        let listed = |offer: &Offer| {
            offer.place.as_ref().is_some_and(|p| p.base_url.value == server.base_url)
        };
        if listing.offers.iter().any(listed) {
            return;
        }
        let place = Endpoint::of_server(server);
        let chat = server.models.iter().filter(|model| model.is_chat());
        listing.offers.extend(chat.take(LISTED).map(|model| Offer::of(&place, model)));
        self.places.entry(place.provider.value.clone()).or_insert(place);
    }

    /// Names that can be typed behind `/model`.
    pub fn names(&self, now: &str) -> Vec<String> {
        let own = known(now, None).into_iter().map(|offer| offer.model);
        let listed = self.offered.1.iter().filter(|_| self.offered.0 == now).cloned();
        let others = self.others(now).into_iter();
        let others = others.flat_map(|other| {
            let known = known(&other.provider, None);
            let usual = other.model.map(|model| Offer::new(&other.provider, &model));
            known.into_iter().chain(usual)
        });
        let found = self.offers.iter().filter(|offer| offer.provider != now).cloned();
        let others = others.chain(found).map(|offer| offer.full_name());
        let mut names: Vec<String> = own.chain(listed).chain(others).collect();
        names.sort();
        names.dedup();
        names
    }
}

impl Offer {
    /// One of which nothing more is known.
    pub fn new(provider: &str, model: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            window: None,
            price: None,
            loaded: false,
            place: None,
        }
    }

    fn of(place: &Endpoint, listed: &Listed) -> Self {
        let provider = &place.provider.value;
        let known = models::find(provider, &listed.id);
        Self {
            window: listed.window.or(known.map(|known| known.window)),
            price: known.map(|known| known.price).or(listed.price),
            loaded: listed.loaded,
            place: Some(place.clone()),
            ..Self::new(provider, &listed.id)
        }
    }

    /// As it is typed from anywhere.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }
}

/// What the table knows of a provider.
fn known(provider: &str, place: Option<&Endpoint>) -> Vec<Offer> {
    models::of(provider)
        .map(|model| Offer {
            window: Some(model.window),
            price: Some(model.price),
            place: place.cloned(),
            ..Offer::new(provider, model.id)
        })
        .collect()
}
