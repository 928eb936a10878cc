//! What a card network says about a payment.

/// The answer to a request for payment.
#[derive(Debug, PartialEq)]
pub enum Answer {
    Authorised,
    Declined,
}

/// Reads a response code. `None` stands for a code that the network has not
/// documented.
pub fn answer(code: &str) -> Option<Answer> {
    match code {
        "00" => Some(Answer::Authorised),
        "05" => Some(Answer::Declined),
        _ => None,
    }
}
