/** What a floor of the query benches can be asked: the same questions in plaintext, answered by the engine or the bare driver. */
import type { Customer } from '../people.ts'

/** What is answered about one customer. */
export type Found = Pick<Customer, 'name' | 'city'>

/** Customers by their e-mail address. */
export interface CustomerIndex {
  readonly name: string
  insert(customers: readonly Customer[]): void | Promise<void>
  find(email: string): Found | undefined | Promise<Found | undefined>
  close(): void | Promise<void>
}

/** Sum, mean and number of a column's values. */
export interface Totals {
  readonly sum: number
  readonly mean: number
  readonly count: number
}

/** A table of customers with an index on the address, and one of accounts without. */
export interface CustomerTable extends CustomerIndex {
  insertAccounts(customers: readonly Customer[]): void | Promise<void>
  /** Reads the whole column of names, and counts in JavaScript those that hold a text. */
  countNames(part: string): number | Promise<number>
  /** Of the balances, by the engine. */
  totals(): Totals | Promise<Totals>
  /** Balances above a sum, by the engine. */
  countAbove(sum: number): number | Promise<number>
  /** Pairs of account and customer, by the engine. */
  countJoined(column: 'email' | 'ssn'): number | Promise<number>
}
