export const routes = [{ method: "POST", path: "/orders", handler: "placeOrder" }];
