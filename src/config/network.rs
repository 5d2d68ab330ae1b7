//! Networks, as `10.0.0.0/8` or a single address.

use std::{fmt, net::IpAddr, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::domain::Error;

/// A range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u32,
}

impl Network {
    /// Whether an address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (own, own_length) = number(self.address);
        let (other, other_length) = number(address.to_canonical());
        let ignored = own_length - self.bits;
        own_length == other_length
            && own.checked_shr(ignored).unwrap_or(0) == other.checked_shr(ignored).unwrap_or(0)
    }
}

/// An address as a number, and how many bits it has.
fn number(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)), 32),
        IpAddr::V6(address) => (u128::from(address), 128),
    }
}

impl FromStr for Network {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || {
            Error::invalid_params(format!(
                "`{text}` is not an address or a network; write `127.0.0.1` or `10.0.0.0/8`"
            ))
        };
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u32>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let address: IpAddr = address.trim().parse().map_err(|_| wrong())?;
        let (_, length) = number(address);
        let bits = bits.unwrap_or(length);
        if bits > length {
            return Err(wrong());
        }
        Ok(Self { address, bits })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bits == number(self.address).1 {
            true => write!(f, "{}", self.address),
            false => write!(f, "{}/{}", self.address, self.bits),
        }
    }
}

impl Serialize for Network {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|error: Error| de::Error::custom(error.plain()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_its_addresses() {
        for (network, inside, outside) in [
            ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
            ("10.0.0.0/8", "10.200.0.1", "11.0.0.1"),
            ("10.0.0.0/8", "::ffff:10.0.0.1", "::a00:1"),
            ("2001:db8::/32", "2001:db8:1::1", "2001:db9::1"),
            ("0.0.0.0/0", "8.8.8.8", "::1"),
            ("::/0", "::1", "8.8.8.8"),
        ] {
            let network: Network = network.parse().unwrap();
            assert!(network.contains(inside.parse().unwrap()), "{network} {inside}");
            assert!(!network.contains(outside.parse().unwrap()), "{network} {outside}");
            assert_eq!(network.to_string().parse::<Network>().unwrap(), network);
        }
        for bad in ["", "localhost", "10.0.0.0/33", "10.0.0.0/x", "10.0.0/8"] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }
}
