//! Statistics of many launches and intervals in a few bytes each: most are zero or small.

use gpu::{StatInfo, Stats, Value};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

/// A value that is absent.
const ABSENT: u8 = 0;
/// A ratio or rate, whose eight bytes follow.
const REAL: u8 = 1;
/// A count is written as the sum of it and this, seven bits to a byte.
const COUNT: u128 = 2;

/// Values in the order of their descriptions, which are kept elsewhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(Box<[u8]>);

impl FromIterator<Value> for Values {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        let mut bytes = Vec::new();
        for value in values {
            match value {
                Value::Real(None) => bytes.push(ABSENT),
                Value::Real(Some(real)) => {
                    bytes.push(REAL);
                    bytes.extend_from_slice(&real.to_le_bytes());
                }
                Value::Count(count) => {
                    let mut rest = u128::from(count) + COUNT;
                    while rest >= 0x80 {
                        bytes.push(rest as u8 | 0x80);
                        rest >>= 7;
                    }
                    bytes.push(rest as u8);
                }
            }
        }
        Self(bytes.into())
    }
}

impl Values {
    /// The values in order.
    pub fn iter(&self) -> impl Iterator<Item = Value> {
        let mut bytes = &self.0[..];
        std::iter::from_fn(move || {
            let (&first, rest) = bytes.split_first()?;
            if first == REAL {
                let (real, rest) = rest.split_first_chunk()?;
                bytes = rest;
                return Some(Value::Real(Some(f64::from_le_bytes(*real))));
            }
            let length = bytes.iter().position(|&byte| byte < 0x80)? + 1;
            let (number, rest) = bytes.split_at(length);
            bytes = rest;
            let number = number.iter().rev().fold(0, |number, &byte| number << 7 | u128::from(byte & 0x7f));
            Some(number.checked_sub(COUNT).map_or(Value::Real(None), |count| Value::Count(count as u64)))
        })
    }

    /// The value at place `at`; absent beyond the end.
    pub fn at(&self, at: usize) -> Value {
        self.iter().nth(at).unwrap_or(Value::Real(None))
    }
}

/// The statistics of one of many launches, which share their descriptions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PackedStats {
    infos: Arc<[Arc<StatInfo>]>,
    values: Values,
}

impl PackedStats {
    /// A packed copy of `stats`, which shares the descriptions of `other` if they are equal.
    pub fn sharing(stats: &Stats, other: Option<&Self>) -> Self {
        let is_same = |other: &&Self| {
            other.infos.len() == stats.0.len() && other.infos.iter().zip(&stats.0).all(|(one, (two, _))| one == two)
        };
        let infos = match other.filter(is_same) {
            Some(other) => other.infos.clone(),
            None => stats.0.iter().map(|(info, _)| info.clone()).collect(),
        };
        Self { infos, values: stats.0.iter().map(|&(_, value)| value).collect() }
    }

    /// Shares the descriptions of `other`, if they are the same.
    pub fn share(&mut self, other: &Self) {
        let is_same = |(one, two): (&Arc<StatInfo>, &Arc<StatInfo>)| Arc::ptr_eq(one, two);
        if self.infos.len() == other.infos.len() && self.infos.iter().zip(&*other.infos).all(is_same) {
            self.infos = other.infos.clone();
        }
    }

    /// Each statistic, in the order of the schema.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<StatInfo>, Value)> {
        self.infos.iter().zip(self.values.iter())
    }

    /// The statistic called `name`.
    pub fn get(&self, name: &str) -> Option<Value> {
        let at = self.infos.iter().position(|info| info.name == name)?;
        Some(self.values.at(at))
    }

    /// The statistic called `name` as a number, 0 where it is absent.
    pub fn number(&self, name: &str) -> f64 {
        self.get(name).and_then(Value::number).unwrap_or(0.0)
    }

    /// A copy for quick access.
    pub fn unpacked(&self) -> Stats {
        Stats(self.iter().map(|(info, value)| (info.clone(), value)).collect())
    }
}

impl From<Stats> for PackedStats {
    fn from(stats: Stats) -> Self {
        Self::sharing(&stats, None)
    }
}

impl Serialize for PackedStats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.infos.len()))?;
        self.iter().try_for_each(|(info, value)| map.serialize_entry(&info.name, &value))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for PackedStats {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        statistics(deserializer).map(Self::from)
    }
}

/// Statistics by their names, in the order in which they come; what is known of each comes from the schema.
pub(crate) fn statistics<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Stats, D::Error> {
    static KNOWN: LazyLock<HashMap<String, Arc<StatInfo>>> = LazyLock::new(|| {
        let known = crate::statistics::schema().into_iter();
        known.map(|info| (info.name.clone().into_owned(), Arc::new(info))).collect()
    });
    struct ByName;
    impl<'de> Visitor<'de> for ByName {
        type Value = Stats;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table of statistics")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Stats, A::Error> {
            let mut all = Stats::default();
            while let Some((name, value)) = map.next_entry::<String, Value>()? {
                let unknown = || StatInfo { name: name.clone().into(), unit: "", description: Cow::Borrowed("") };
                let info = KNOWN.get(&name).cloned().unwrap_or_else(|| Arc::new(unknown()));
                all.0.push((info, value));
            }
            Ok(all)
        }
    }
    deserializer.deserialize_map(ByName)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(values: &[Value]) -> Stats {
        let info = |at| StatInfo { name: format!("s{at}").into(), unit: "", description: "".into() };
        Stats(values.iter().enumerate().map(|(at, value)| (info(at).into(), *value)).collect())
    }

    #[test]
    fn values_come_back_from_few_bytes() {
        let counts = [0, 1, 125, 126, 127, 1 << 40, u64::MAX - 2, u64::MAX - 1, u64::MAX].map(Value::Count);
        let reals = [Some(0.0), Some(-1.5), Some(f64::INFINITY), None, Some(f64::MIN_POSITIVE)].map(Value::Real);
        let all: Vec<Value> = counts.into_iter().chain(reals).chain(counts).collect();
        let packed = PackedStats::from(stats(&all));
        assert_eq!(packed.unpacked(), stats(&all));
        assert!(all.iter().enumerate().all(|(at, &value)| packed.values.at(at) == value));
        assert_eq!((packed.values.at(all.len()), packed.get("s99")), (Value::Real(None), None));
        assert_eq!(serde_json::to_string(&packed).unwrap(), serde_json::to_string(&stats(&all)).unwrap());
        let zeros: Values = std::iter::repeat_n(Value::Count(0), 300).collect();
        assert_eq!(zeros.0.len(), 300);
    }

    #[test]
    fn launches_share_their_descriptions() {
        let first = PackedStats::from(stats(&[Value::Count(1), Value::Count(2)]));
        let same = PackedStats::sharing(&stats(&[Value::Count(3), Value::Real(None)]), Some(&first));
        assert!(Arc::ptr_eq(&first.infos, &same.infos));
        let longer = PackedStats::sharing(&stats(&[Value::Count(1); 3]), Some(&first));
        assert_eq!(longer.iter().count(), 3);
    }
}
