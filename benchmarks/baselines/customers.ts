/** Interfaces of the baselines of the query benchmark: the same queries on plaintext, through the bare driver. */
import type { Customer } from '../fixtures/people.ts'

/** The selected columns of one customer. */
export type Found = Pick<Customer, 'name' | 'city'>

/** Customers by their e-mail address. */
export interface CustomerIndex {
  readonly name: string
  insert(customers: readonly Customer[]): void | Promise<void>
  find(email: string): Found | undefined | Promise<Found | undefined>
  close(): void | Promise<void>
}

/** Sum, mean and count of a column. */
export interface Totals {
  readonly sum: number
  readonly mean: number
  readonly count: number
}

/** A table of customers with an index on `email`, and a table of accounts without one. */
export interface CustomerTable extends CustomerIndex {
  insertAccounts(customers: readonly Customer[]): void | Promise<void>
  /** Reads all names and counts in JavaScript those that contain `part`. */
  countNames(part: string): number | Promise<number>
  /** Totals of the balances, computed by the database. */
  totals(): Totals | Promise<Totals>
  /** Count of balances above `sum`, computed by the database. */
  countAbove(sum: number): number | Promise<number>
  /** Count of pairs of account and customer, computed by the database. */
  countJoined(column: 'email' | 'ssn'): number | Promise<number>
}
