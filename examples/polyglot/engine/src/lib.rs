/// The price at which a buy and a sell order meet, if they do.
pub fn cross(bid: u64, ask: u64) -> Option<u64> {
    (bid >= ask).then_some(ask)
}
