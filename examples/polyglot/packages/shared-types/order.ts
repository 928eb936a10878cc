export interface Order {
  side: "buy" | "sell";
  price: number;
  quantity: number;
}
