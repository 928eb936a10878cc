//! Bookings that sum to zero.

/// One side of a booking: an account and what it gains, in cents.
pub struct Posting {
    pub account: u32,
    pub cents: i64,
}

/// Why a booking was refused.
#[derive(Debug, PartialEq)]
pub enum Error {
    /// The postings sum to this many cents and not to zero.
    Unbalanced(i64),
    /// The sum does not fit into an `i64`.
    Overflow,
}

/// Accepts postings that sum to zero. Fails with [`Error::Unbalanced`] or
/// [`Error::Overflow`].
pub fn check(postings: &[Posting]) -> Result<(), Error> {
    let sum = postings
        .iter()
        .try_fold(0i64, |sum, p| sum.checked_add(p.cents))
        .ok_or(Error::Overflow)?;
    match sum {
        0 => Ok(()),
        cents => Err(Error::Unbalanced(cents)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn booking(cents: &[i64]) -> Vec<Posting> {
        let posting = |&cents| Posting { account: 1, cents };
        cents.iter().map(posting).collect()
    }

    #[test]
    fn only_zero_is_balanced() {
        assert_eq!(check(&booking(&[250, -250])), Ok(()));
        assert_eq!(check(&booking(&[250, -200])), Err(Error::Unbalanced(50)));
        assert_eq!(check(&booking(&[i64::MAX, 1])), Err(Error::Overflow));
    }
}
