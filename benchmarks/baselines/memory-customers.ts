/** Baseline: a Map of plain objects by e-mail address. A stored customer is copied whole, as the vault does, and the answer made from the copy. */
import type { Customer } from '../fixtures/people.ts'
import type { CustomerIndex } from './customers.ts'

export function createMemoryCustomers(): CustomerIndex {
  const byEmail = new Map<string, Customer>()
  return {
    name: 'Map, copied whole through JSON',
    insert(customers) {
      for (const customer of customers) byEmail.set(customer.email, customer)
    },
    find(email) {
      const customer = byEmail.get(email)
      if (customer === undefined) return undefined
      const { name, city }: Customer = JSON.parse(JSON.stringify(customer))
      return { name, city }
    },
    close() {
      byEmail.clear()
    },
  }
}
