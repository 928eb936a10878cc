export interface Shipment {
  origin: string;
  destination: string;
  kilograms: number;
}

export interface Quote {
  cents: number;
  currency: "EUR";
}
