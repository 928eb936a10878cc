import type { Quote, Shipment } from "./types";

/** A connection to the platform, for one carrier or shipper. */
export class Client {
  constructor(
    private readonly call: <T>(procedure: string, input: unknown) => Promise<T>,
  ) {}

  quote(shipment: Shipment): Promise<Quote> {
    return this.call("shipping.quote", shipment);
  }
}
