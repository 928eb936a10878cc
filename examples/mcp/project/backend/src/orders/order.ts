export type Order = { id: string; totalCents: number; paidAt?: string };
