/** Baseline: a Map of plain objects by e-mail address. Results are copied through JSON. */
import type { Customer } from '../fixtures/people.ts'
import type { CustomerIndex } from './customers.ts'

export function createMemoryCustomers(): CustomerIndex {
  const byEmail = new Map<string, Customer>()
  return {
    name: 'Map, copied through JSON',
    insert(customers) {
      for (const customer of customers) byEmail.set(customer.email, customer)
    },
    find(email) {
      const customer = byEmail.get(email)
      return customer === undefined ? undefined : JSON.parse(JSON.stringify({ name: customer.name, city: customer.city }))
    },
    close() {
      byEmail.clear()
    },
  }
}
