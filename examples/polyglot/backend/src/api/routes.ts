import type { Order } from "../../../packages/shared-types/order";

export const routes = {
  "POST /orders": (order: Order) => ({ accepted: order.quantity > 0 }),
};
