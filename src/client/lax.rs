//! Tolerant deserialising: a field of an unexpected type is taken for absent, never an error.
//!
//! Providers send null, numbers as strings, objects for lists and lists for objects. One visitor
//! takes whatever comes; a type says through [`Lax`] which forms it can use. Strings stay
//! borrowed where the JSON allows it.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A type that is made of any JSON value, its default from forms that mean nothing to it.
pub(super) trait Lax<'de>: Default {
    fn text(_: Cow<'de, str>) -> Self {
        Self::default()
    }
    fn whole(_: i64) -> Self {
        Self::default()
    }
    fn real(_: f64) -> Self {
        Self::default()
    }
    fn truth(_: bool) -> Self {
        Self::default()
    }
    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
    fn map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

/// For `#[serde(deserialize_with = "lax")]`.
pub(super) fn lax<'de, D: Deserializer<'de>, T: Lax<'de>>(from: D) -> Result<T, D::Error> {
    from.deserialize_any(LaxVisitor(PhantomData))
}

/// A struct that is read from a JSON object.
pub(super) trait Record {}

/// An element of a list, taken as tolerantly as a field.
struct Element<T>(T);

impl<'de, T: Lax<'de>> Deserialize<'de> for Element<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        lax(from).map(Self)
    }
}

/// The rest of a list, element by element.
pub(super) fn elements<'de, A: SeqAccess<'de>, T: Lax<'de>>(
    mut list: A,
    each: &mut dyn FnMut(T),
) -> Result<(), A::Error> {
    while let Some(Element(element)) = list.next_element()? {
        each(element);
    }
    Ok(())
}

/// An object as the struct it stands for.
pub(super) fn record<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
    map: A,
) -> Result<T, A::Error> {
    T::deserialize(MapAccessDeserializer::new(map))
}

impl<'de, T: Record + Deserialize<'de>> Lax<'de> for Option<T> {
    fn map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        record(map).map(Some)
    }
}

impl<'de, T: Record + Deserialize<'de>> Lax<'de> for Vec<T> {
    fn list<A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        let mut all = Self::new();
        elements(list, &mut |element: Option<T>| all.extend(element))?;
        Ok(all)
    }
    fn map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        Ok(vec![record(map)?])
    }
}

impl<'de: 'a, 'a> Lax<'de> for Cow<'a, str> {
    fn text(text: Cow<'de, str>) -> Self {
        text
    }
    fn whole(number: i64) -> Self {
        Cow::Owned(number.to_string())
    }
}

impl Lax<'_> for Option<i64> {
    fn text(text: Cow<'_, str>) -> Self {
        text.trim().parse().ok()
    }
    fn whole(number: i64) -> Self {
        Some(number)
    }
    fn real(number: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "`as` saturates; it is a count")]
        Some(number as i64)
    }
}

impl Lax<'_> for Option<f64> {
    fn text(text: Cow<'_, str>) -> Self {
        text.trim().parse().ok()
    }
    fn whole(number: i64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "an amount of money, far below 2^53")]
        Some(number as f64)
    }
    fn real(number: f64) -> Self {
        Some(number)
    }
}

/// Whether a field says anything: null, false, "", 0, `[]` and `{}` do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Present(pub(super) bool);

impl<'de> Lax<'de> for Present {
    fn text(text: Cow<'de, str>) -> Self {
        Self(!text.is_empty())
    }
    fn whole(number: i64) -> Self {
        Self(number != 0)
    }
    fn truth(truth: bool) -> Self {
        Self(truth)
    }
    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut any = false;
        while list.next_element::<IgnoredAny>()?.is_some() {
            any = true;
        }
        Ok(Self(any))
    }
    fn map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let mut any = false;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            any = true;
        }
        Ok(Self(any))
    }
}

struct LaxVisitor<T>(PhantomData<T>);

impl<'de, T: Lax<'de>> Visitor<'de> for LaxVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::text(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::text(Cow::Owned(text.to_owned())))
    }
    fn visit_string<E>(self, text: String) -> Result<T, E> {
        Ok(T::text(Cow::Owned(text)))
    }
    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(T::whole(number))
    }
    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(T::whole(i64::try_from(number).unwrap_or(i64::MAX)))
    }
    fn visit_f64<E>(self, number: f64) -> Result<T, E> {
        Ok(T::real(number))
    }
    fn visit_bool<E>(self, truth: bool) -> Result<T, E> {
        Ok(T::truth(truth))
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::list(list)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::map(map)
    }
}
